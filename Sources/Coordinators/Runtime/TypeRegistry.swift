import ConcurrencySupport

/// The coordinators that a program can host, by the names by which a parent in another process requests them.
///
/// Only the types are kept: the tables of types that a process never hosts are never made.
final class TypeRegistry: Sendable {
    private let types = Lock<[String: any Coordinator.Type]>([:])

    /// Adds a type; returns false if it replaces another one of the same name, which can then no longer be started by it.
    @discardableResult
    func register(_ type: any Coordinator.Type) -> Bool {
        let former = types.withLock { $0.updateValue(type, forKey: TypeNames.name(of: type)) }
        return former.map { $0 == type } ?? true
    }

    /// Returns the type with a name; throws `unknownType` with the known names if there is none.
    func type(named name: String) throws(CoordinatorError) -> CoordinatorType {
        let (type, known) = types.withLock { ($0[name], $0.keys.sorted()) }
        if let type { return .of(type) }
        throw CoordinatorError(
            .unknownType,
            "this program hosts no coordinator '\(name)'; it hosts \(known.joined(separator: ", ")): add it to `workers:`"
        )
    }
}
