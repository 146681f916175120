import Synchronization

/// The coordinators that a program can host, by name: what a parent in another process asks for by name is looked up here.
final class TypeRegistry: Sendable {
    private let types = Mutex<[String: CoordinatorType]>([:])

    func register(_ type: any Coordinator.Type) {
        let type = Self.erase(type)
        types.withLock { $0[type.name] = type }
    }

    /// - Throws: `unknownType`, naming what is known.
    func type(named name: String) throws(CoordinatorError) -> CoordinatorType {
        let (type, known) = types.withLock { ($0[name], $0.keys.sorted()) }
        if let type { return type }
        throw CoordinatorError(
            .unknownType,
            "this program hosts no coordinator '\(name)'; it hosts \(known.joined(separator: ", ")): add it to `workers:`"
        )
    }

    private static func erase<C: Coordinator>(_ type: C.Type) -> CoordinatorType { .of(type) }
}
