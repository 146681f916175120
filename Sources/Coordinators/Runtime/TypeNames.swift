import Synchronization

/// Type names without their module, computed once for each type.
enum TypeNames {
    private static let names = Mutex<[ObjectIdentifier: String]>([:])

    static func name(of type: any Any.Type) -> String {
        let key = ObjectIdentifier(type)
        if let known = names.withLock({ $0[key] }) { return known }
        let full = String(reflecting: type)
        let name = full.firstIndex(of: ".").map { String(full[full.index(after: $0)...]) } ?? full
        names.withLock { $0[key] = name }
        return name
    }
}
