import ConcurrencySupport
import Synchronization
import WireProtocol

/// A type-erased coordinator type: the functions and properties that the runtime needs to make and run an instance.
///
/// There is one for each type, made when it's first needed, and one for a root that hands messages on by rows that its type doesn't have.
final class CoordinatorType: Sendable {
    let name: String
    let table: ResponderTable
    let policy: SupervisionPolicy
    let mailbox: Box<MailboxPolicy>
    let cancellationGrace: Duration
    let idleTimeout: Duration?
    /// Whether it has a stack of pages of its own.
    let ownsNavigation: Bool
    let make: @Sendable (Node, ConfigurationValue) throws -> any Coordinator
    /// Checks that a configuration can be read as that of the type.
    let check: @Sendable (ConfigurationValue) throws -> Void
    let reconfigure: @Sendable (Node, any Coordinator, ConfigurationValue) async throws -> Reconfiguration
    let popped: @Sendable (any Coordinator, JSONValue?) async throws -> Void
    let open: @Sendable (any Coordinator, _ section: String) async throws -> Void
    let display: @Sendable (any Coordinator, JSONValue) async throws -> Void
    /// Whether it has a scene, which is watched while it's active and closed at its end.
    let ownsScene: Bool

    private let absentHooks = Atomic<UInt8>(0)
    /// The number of the registry that has checked the names of the type's messages last; 0: none.
    private let checker = Atomic<UInt64>(0)

    private static let known = Lock<[ObjectIdentifier: CoordinatorType]>([:])

    static func of<C: Coordinator>(_ type: C.Type) -> CoordinatorType {
        if let known = known.withLock({ $0[ObjectIdentifier(type)] }) { return known }
        let new = CoordinatorType(type)
        return known.withLock { known in
            if let other = known[ObjectIdentifier(type)] { return other }
            known[ObjectIdentifier(type)] = new
            return new
        }
    }

    /// Returns a type that hands messages on by rows after its own: one for a single use, unless there are no such rows.
    static func of<C: Coordinator>(_ type: C.Type, adding rows: [CoordinatorRuntime.Forward]) -> CoordinatorType {
        rows.isEmpty ? of(type) : CoordinatorType(type, adding: rows.map(\.row))
    }

    /// Notes that the type leaves a hook to its default.
    func note(absent hook: AbsentHooks) { absentHooks.bitwiseOr(hook.rawValue, ordering: .relaxed) }

    /// Returns whether the type is known to leave a hook to its default.
    func lacks(_ hook: AbsentHooks) -> Bool { AbsentHooks(rawValue: absentHooks.load(ordering: .relaxed)).contains(hook) }

    /// Returns whether a registry has checked the type's names, and no other since.
    func isChecked(by registry: UInt64) -> Bool { checker.load(ordering: .relaxed) == registry }

    /// Notes that a registry has checked the type's names.
    func noteCheck(by registry: UInt64) { checker.store(registry, ordering: .relaxed) }

    /// Whether the start of such a coordinator is known to have nothing to wait for: it has no `start` hook, and no scene.
    var startsAtOnce: Bool { lacks(.start) && !ownsScene }

    /// Whether a coordinator that ends is known to have nothing to wait for but its children and its handlers.
    var stopsAtOnce: Bool { lacks(.stopped) && !ownsScene }

    private init<C: Coordinator>(_ type: C.Type, adding rows: [Row] = []) {
        name = TypeNames.name(of: type)
        table = ResponderTable(C.responders.map(\.row) + rows)
        policy = C.supervision
        mailbox = Box(C.mailbox)
        cancellationGrace = C.cancellationGrace
        idleTimeout = C.idleTimeout
        ownsNavigation = type is any NavigationCoordinator.Type
        ownsScene = type is any SceneCoordinator.Type
        make = { node, configuration in
            node.configure(with: try configuration.decoded(as: C.Configuration.self))
            return C(CoordinatorContext(node: node))
        }
        check = { configuration in _ = try configuration.decoded(as: C.Configuration.self) }
        reconfigure = { node, coordinator, configuration in
            let me: C = try MessageRow.cast(coordinator)
            let former = node.configuration(as: C.Configuration.self)
            node.configure(with: try configuration.decoded(as: C.Configuration.self))
            do {
                return try await me.reconfigured(from: former)
            } catch {
                node.configure(with: former)
                throw error
            }
        }
        popped = { coordinator, page in
            let me: C = try MessageRow.cast(coordinator)
            await me.popped(to: try page.map { json throws(CoordinatorError) in try C.Page(decoding: json) })
        }
        open = { coordinator, section in
            let me: C = try MessageRow.cast(coordinator)
            guard let key = C.ChildKey(section) else {
                throw CoordinatorError(.noSuchChild, "\(C.self) has no section '\(section)'")
            }
            try await me.open(section: key)
        }
        display = { coordinator, page in
            let me: C = try MessageRow.cast(coordinator)
            try await me.display(page: try C.Page(decoding: page))
        }
    }
}

/// The coordinators that a program can host, by the names by which a parent in another process requests them.
///
/// Only the types are kept: the tables of types that a process never hosts are never made, except by a spare, which has the time.
final class TypeRegistry: Sendable {
    private struct Types {
        var byName: [String: any Coordinator.Type] = [:]
        /// The names that several types have.
        var ambiguousNames: Set<String> = []
    }

    private let types = Lock(Types())

    func register(_ type: any Coordinator.Type) {
        let name = TypeNames.name(of: type)
        types.withLock { types in
            let former = types.byName.updateValue(type, forKey: name)
            if let former, former != type { types.ambiguousNames.insert(name) }
        }
    }

    /// Makes the tables of all types.
    func makeTables() {
        for type in types.withLock({ Array($0.byName.values) }) { _ = CoordinatorType.of(type) }
    }

    /// Checks that each name stands for one type.
    func checkNames() throws(CoordinatorError) {
        if let name = types.withLock({ $0.ambiguousNames.min() }) { throw Self.ambiguous(name) }
    }

    /// Returns the type with a name.
    ///
    /// - Throws: `unknownType` with the known names if there is none; `invalidName` if there are several.
    func type(named name: String) throws(CoordinatorError) -> CoordinatorType {
        let (type, isAmbiguous, known) = types.withLock { ($0.byName[name], $0.ambiguousNames.contains(name), $0.byName.keys.sorted()) }
        if isAmbiguous { throw Self.ambiguous(name) }
        if let type { return .of(type) }
        throw CoordinatorError(
            .unknownType,
            "this program hosts no coordinator '\(name)'; it hosts \(known.joined(separator: ", ")): add it to `coordinators:`"
                + TypeNames.advice(on: name)
        )
    }

    private static func ambiguous(_ name: String) -> CoordinatorError {
        CoordinatorError(
            .invalidName,
            "this program hosts several coordinators that are named '\(name)', and a parent starts them by name: rename one of them"
        )
    }
}
