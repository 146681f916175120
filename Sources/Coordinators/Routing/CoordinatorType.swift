import ConcurrencySupport
import Synchronization
import WireProtocol

/// The receiver of messages that keeps a coordinator's configuration.
protocol ConfiguredReceiver: MessageReceiver {
    /// Sets the configuration, which is the box's from now on: nobody changes it.
    func configure<Configuration: Codable & Sendable>(with configuration: Box<Configuration>)
    /// Sets a former configuration, unless another one has been set since the present one.
    func configure<Configuration: Codable & Sendable>(backTo former: Box<Configuration>, from present: Box<Configuration>)
    func configuration<Configuration: Codable & Sendable>(of type: Configuration.Type) -> Box<Configuration>
}

/// A type-erased coordinator type: the functions and properties that the runtime needs to make and run an instance.
///
/// There is one for each type, made when it's first needed, and one for a root that hands messages on by rows that its type doesn't have.
final class CoordinatorType: Sendable {
    let name: String
    let table: ResponderTable
    let policy: SupervisionPolicy
    /// The reason why the policy makes no sense; `nil` if it does.
    let policyError: SupervisionError?
    let mailbox: Box<MailboxPolicy>
    let cancellationGrace: Duration
    let idleTimeout: Duration?
    /// Whether it has a stack of pages of its own.
    let ownsNavigation: Bool
    let make: @Sendable (any ConfiguredReceiver, ConfigurationValue) throws -> any Coordinator
    /// Checks that a configuration can be read as that of the type.
    let check: @Sendable (ConfigurationValue) throws -> Void
    let reconfigure: @Sendable (any ConfiguredReceiver, any Coordinator, ConfigurationValue) async throws -> Reconfiguration
    let popped: @Sendable (any Coordinator, JSONValue?) async throws -> Void
    let open: @Sendable (any Coordinator, _ section: String) async throws -> Void
    let display: @Sendable (any Coordinator, JSONValue) async throws -> Void
    /// Whether it has a scene, which is watched while it's active and closed at its end.
    let ownsScene: Bool
    /// Whether its flow is in a store, and is read before its `start`.
    let isDurable: Bool

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
    static func of<C: Coordinator>(_ type: C.Type, adding rows: [Row]) -> CoordinatorType {
        rows.isEmpty ? of(type) : CoordinatorType(type, adding: rows)
    }

    /// Notes that the type leaves a hook to its default.
    func mark(absent hook: AbsentHooks) { absentHooks.bitwiseOr(hook.rawValue, ordering: .relaxed) }

    /// Returns whether the type is known to leave a hook to its default.
    func lacks(_ hook: AbsentHooks) -> Bool { AbsentHooks(rawValue: absentHooks.load(ordering: .relaxed)).contains(hook) }

    /// Returns whether a registry has checked the type's names, and no other since.
    func isChecked(by registry: UInt64) -> Bool { checker.load(ordering: .relaxed) == registry }

    /// Notes that a registry has checked the type's names.
    func noteCheck(by registry: UInt64) { checker.store(registry, ordering: .relaxed) }

    /// Whether a coordinator that ends is known to have nothing to wait for but its children and its handlers.
    var stopsAtOnce: Bool { lacks(.stopped) && !ownsScene }

    private init<C: Coordinator>(_ type: C.Type, adding rows: [Row] = []) {
        name = TypeNames.name(of: type)
        table = ResponderTable(C.responders.map(\.row) + rows)
        policy = C.supervision
        policyError = policy.validationError
        mailbox = Box(C.mailbox)
        cancellationGrace = C.cancellationGrace
        idleTimeout = C.idleTimeout
        ownsNavigation = type is any NavigationCoordinator.Type || type is any DurableCoordinator.Type
        ownsScene = type is any SceneCoordinator.Type
        isDurable = type is any DurableCoordinator.Type
        let boxType: AnyClass = Box<C.Configuration>.self
        make = { receiver, configuration in
            receiver.configure(with: try configuration.box(of: C.Configuration.self, in: boxType))
            return C(CoordinatorContext(of: receiver))
        }
        check = { configuration in _ = try configuration.decoded(as: C.Configuration.self) }
        reconfigure = { receiver, coordinator, configuration in
            let me: C = try MessageRow.cast(coordinator)
            let (former, next) = (receiver.configuration(of: C.Configuration.self), try configuration.box(of: C.Configuration.self))
            receiver.configure(with: next)
            do {
                let reaction = try await me.reconfigured(from: former.value)
                // The parent has the former one again when the time is over.
                try Task.checkCancellation()
                return reaction
            } catch {
                receiver.configure(backTo: former, from: next)
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

// MARK: - The names of a tree's messages

/// The names that the tables of a tree's coordinators use between processes: in each process, a name stands for one type.
///
/// Trees that share a process, as those of tests do, have registries of their own.
final class NameRegistry: Sendable {
    /// A kind of types, whose names are apart from those of the other kinds.
    private enum Kind { case message, error }

    private struct Claim {
        let type: ObjectIdentifier
        let description: String
        let isFormer: Bool
    }

    private struct Key: Hashable {
        let kind: Kind
        let name: String
    }

    private static let count = Atomic<UInt64>(0)

    /// The number by which a coordinator's type knows the registry that it was checked by last.
    private let number = NameRegistry.count.add(1, ordering: .relaxed).newValue
    private let claims = Lock<[Key: Claim]>([:])

    /// Checks that the names of a coordinator's messages, and of their errors, stand for no other types, and that messages that coalesce can
    /// be compared.
    func check(_ coordinator: CoordinatorType) throws(CoordinatorError) {
        if coordinator.isChecked(by: number) { return }
        for message in coordinator.table.messages where message.coalesces && !(message is any Hashable.Type) {
            throw CoordinatorError(.unsupported, "\(coordinator.name) can't be started: \(SharedAsks.Key.refusal(of: message))")
        }
        if let problem = add(coordinator.table.messages).first {
            throw CoordinatorError(.invalidName, "\(coordinator.name) can't be started: \(problem)")
        }
        coordinator.noteCheck(by: number)
    }

    /// Adds messages' names, and those of the errors that they declare, unless there are problems.
    ///
    /// - Returns: The reasons, in words, why the types can't be used under their names; none as a rule.
    func add(_ messages: [any ResponderMessage.Type]) -> [String] {
        claims.withLock { claims in
            var after = claims
            let problems = messages.flatMap { Self.problems(of: $0, &after) }
            if problems.isEmpty { claims = after }
            return problems
        }
    }

    private static func problems<M: ResponderMessage>(of message: M.Type, _ claims: inout [Key: Claim]) -> [String] {
        guard M.wireName.utf8.count <= WireNames.limit else {
            return ["the names of \(_typeName(message, qualified: true)) have more than \(WireNames.limit) bytes together: shorten them"]
        }
        var problems = problems(.message, message, &claims)
        for error in M.errorTypes { problems += Self.problems(.error, error, &claims) }
        return problems
    }

    private static func problems(_ kind: Kind, _ type: any WireNamed.Type, _ claims: inout [Key: Claim]) -> [String] {
        var seen: Set<String> = []
        var problems: [String] = []
        for (index, name) in type.names.enumerated() where seen.insert(name).inserted {
            if let problem = problem(kind, name, isFormer: index > 0, type, &claims) { problems.append(problem) }
        }
        return problems
    }

    private static func problem(
        _ kind: Kind,
        _ name: String,
        isFormer: Bool,
        _ type: any WireNamed.Type,
        _ claims: inout [Key: Claim]
    ) -> String? {
        let description = _typeName(type, qualified: true)
        let what = isFormer ? "the former name" : "the name"
        guard WireNames.isAllowed(name) else {
            return "\(what) '\(name)' of \(description) is empty, or has a '|' or an '@' in it: choose another"
        }
        guard !isFormer || !Builtins.isName(name) else {
            return "\(what) '\(name)' of \(description) is the runtime's own: names that begin with \(ReservedName.prefix) are"
        }
        let claim = Claim(type: ObjectIdentifier(type), description: description, isFormer: isFormer)
        let key = Key(kind: kind, name: name)
        guard let holder = claims[key] else {
            claims[key] = claim
            return nil
        }
        guard holder.type != claim.type else { return nil }
        let other = holder.isFormer ? "a former name" : "the name"
        return
            "\(what) '\(name)' of \(description) is also \(other) of \(holder.description): give one of the types another `name`, or remove "
            + "the former name"
    }
}
