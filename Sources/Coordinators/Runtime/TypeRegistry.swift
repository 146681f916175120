import ConcurrencySupport

/// The coordinators that a program can host, by name: what a parent in another process asks for by name is looked up here.
///
/// Only the types are kept: the tables of those that a process never hosts are never made.
final class TypeRegistry: Sendable {
    private let types = Lock<[String: any Coordinator.Type]>([:])

    /// - Returns: whether the name stands for this type alone; a former one of the same name can't be started by it any more.
    @discardableResult
    func register(_ type: any Coordinator.Type) -> Bool {
        let former = types.withLock { $0.updateValue(type, forKey: TypeNames.name(of: type)) }
        return former.map { $0 == type } ?? true
    }

    /// - Throws: `unknownType`, naming what is known.
    func type(named name: String) throws(CoordinatorError) -> CoordinatorType {
        let (type, known) = types.withLock { ($0[name], $0.keys.sorted()) }
        if let type { return Self.erase(type) }
        throw CoordinatorError(
            .unknownType,
            "this program hosts no coordinator '\(name)'; it hosts \(known.joined(separator: ", ")): add it to `workers:`"
        )
    }

    private static func erase<C: Coordinator>(_ type: C.Type) -> CoordinatorType { .of(type) }
}
