import ConcurrencySupport
import Supervision
import WireProtocol

/// The way in which a start treats a child that has the key already.
public enum IfPresent: Sendable, Hashable {
    /// A child that lives is joined, if it's of the same type and has the same configuration; otherwise the start throws.
    case join
    /// The child keeps its place among its siblings and its state, and gets the new definition: its restart type, its shutdown, its limits
    /// and its spares hold at once, and so does all of a program that its running process has no part in, or that can be changed from outside:
    /// its health check, its stop, its exit codes, its recycling, its niceness and its limits of resources. Everything else holds from its
    /// next life on.
    case change
    /// The child keeps its place among its siblings, gets the new definition, and is restarted with it, whatever its state.
    case restart
}

extension ChildSupervisor {
    /// Starts a child, or changes the one that has the key already.
    func start(_ definition: ChildDefinition, ifPresent: IfPresent) async throws {
        switch ifPresent {
        case .join: break
        case .change:
            if define(definition) {
                changeSpares(of: definition.key)
                try state.withLock({ $0.slots.with(definition.key) { $0.host } ?? nil })?.adoptDefinition(definition)
                return
            }
        case .restart: if define(definition) { return try await restart(definition.key) }
        }
        try await start(definition)
    }

    /// Replaces the definition of a child, whose life goes on.
    ///
    /// - Returns: False when no child has the key.
    private func define(_ definition: ChildDefinition) -> Bool {
        mutateAndPerform { state in
            guard state.phase == .open, state.machine.state(of: definition.key) != nil else { return false }
            state.slots.with(definition.key) { $0.registration.definition = definition }
            var specification = definition.specification
            specification.stopPlace = state.machine.specification(of: definition.key)?.stopPlace ?? .unordered
            state.feed(.specificationChanged(specification))
            return true
        }
    }

    /// Has a child that runs follow its definition with its spares; one that doesn't run gets them with its next life.
    private func changeSpares(of key: String) {
        let (former, present) = state.withLock { state -> (SparePool?, SparePool?) in
            guard state.isRunning(key), let slot = state.slots.box(key) else { return (nil, nil) }
            guard slot.value.definition.isInWorker || slot.value.record.spares != nil else { return (nil, nil) }
            let former = prepareSpares(key, &slot.value)
            return (former, slot.value.record.spares)
        }
        former?.end()
        present?.fillSoon()
    }

    /// Puts the children into a start order, and into an order of stops; those that aren't named come first.
    func arrange(_ keys: [String], stoppingBefore others: [String: [String]]) {
        state.withLock { $0.machine.arrange(keys, stoppingBefore: others) }
    }

    /// Waits until the health of a child's present life, a program, was checked with success, or the life has ended.
    func firstHealth(of key: String) async -> Bool {
        await (state.withLock { $0.host(of: key) } as? ProgramHost)?.firstHealth.value ?? false
    }

    /// Whether the children are being stopped because the coordinator ends.
    var isEnding: Bool { state.withLock { $0.machine.isEnding } }

    /// Changes whether a child that is given up goes alone, or ends this supervisor; the root's always go alone.
    func isolateFailures(_ isolates: Bool) {
        state.withLock { $0.machine.isolateFailures(isolates || cell.isRoot) }
    }
}

// MARK: - Pausing

extension ChildSupervisor {
    /// Pauses a child by name, or resumes it; returns when the child and the coordinators below it have followed.
    ///
    /// - Throws: `noSuchChild`.
    func setPaused(_ isPaused: Bool, for key: String, initiator: Initiator) async throws {
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        guard await change(key, .explicit, isPaused, initiator) else { throw noSuchChild(key) }
    }

    /// Pauses or resumes the children after the coordinator itself was paused or resumed.
    func cascade(isPaused: Bool) async {
        await withDiscardingTaskGroup { group in
            for key in keys { group.addTask { _ = await self.change(key, .cascade, isPaused, .parent) } }
        }
    }

    /// Changes one reason for which a child is paused.
    ///
    /// - Returns: False when there is no such child.
    private func change(_ key: String, _ reason: PauseReasons, _ isPaused: Bool, _ initiator: Initiator) async -> Bool {
        let turn = withSlot(key) { slot in
            let turn = slot.record.pauseTurn ?? AsyncLock()
            slot.record.pauseTurn = turn
            return turn
        }
        guard let turn else { return false }
        return await turn.pass { await self.changeInTurn(key, reason, isPaused, initiator) }
    }

    private struct PauseChange {
        let host: (any ChildHost)?
        let reasons: PauseReasons
        /// Whether the child runs, and is paused or resumed by the change.
        let isVisible: Bool
    }

    private func changeInTurn(_ key: String, _ reason: PauseReasons, _ isPaused: Bool, _ initiator: Initiator) async -> Bool {
        let change = state.withLock { state -> PauseChange? in
            let isRunning = state.isRunning(key)
            return state.slots.with(key) { slot in
                let former = slot.pauseReasons
                let reasons = isPaused ? former.union(reason) : former.subtracting(reason)
                slot.pauseReasons = reasons
                return PauseChange(host: slot.host, reasons: reasons, isVisible: isRunning && former.isEmpty != reasons.isEmpty)
            }
        }
        guard let change else { return false }
        await change.host?.pause(for: change.reasons)
        if change.isVisible { announce(change.reasons.isEmpty ? .resumed : .paused, of: key, toParent: initiator != .parent) }
        return true
    }
}

extension ChildSupervisor {
    /// Changes a child's configuration, which the child takes while it lives or with a restart.
    ///
    /// - Throws: `noSuchChild`; the error with which the child refuses the configuration: the former one then stays.
    func reconfigure<Configuration: Codable & Sendable>(
        _ key: String,
        timeout: Duration,
        _ change: (inout Configuration) throws -> Void
    ) async throws {
        let waiting = HandlerScope.current?.beginWaitForChild()
        defer { waiting?.end() }
        // The caller's function runs before the first suspension, with the caller's isolation.
        guard let former = definition(of: key) else { throw noSuchChild(key) }
        guard let given = former.configuration else { throw CoordinatorError(.unsupported, "\(key) is a program") }
        var configuration = try given.decoded(as: Configuration.self)
        try change(&configuration)
        let value = ConfigurationValue.value(configuration)
        let turn = withSlot(key) { slot in
            let turn = slot.record.configurationTurn ?? AsyncLock()
            slot.record.configurationTurn = turn
            return turn
        }
        guard let turn else { throw noSuchChild(key) }
        try await turn.pass { try await self.reconfigureInTurn(key, former, value, timeout) }
    }

    private func definition(of key: String) -> ChildDefinition? { state.withLock { $0.known(key)?.value.definition } }

    private func reconfigureInTurn(_ key: String, _ former: ChildDefinition, _ value: ConfigurationValue, _ timeout: Duration) async throws
    {
        guard let next = former.configured(with: value) else { return }
        if try next.differences(from: former).isEmpty { return }
        // From now on each new life begins with the new value, whatever happens to the present one.
        guard replace(former, with: next, of: key) else {
            throw CoordinatorError(.configurationDiffers, "\(cell.path.appending(key)) was configured anew at the same time: try again")
        }
        // A child that has ended takes the value when it's started again.
        guard state.withLock({ $0.isAlive(key) }) else { return }
        switch try await reaction(of: key, to: value, timeout, orBack: (next, former)) {
        case .taken: return
        case .restart: try await restart(key)
        }
    }

    /// Replaces a child's definition.
    ///
    /// - Returns: False when the child has another definition by now.
    private func replace(_ former: ChildDefinition, with next: ChildDefinition, of key: String) -> Bool {
        withSlot(key) { slot in
            guard slot.registration.definition.isSame(as: former) else { return false }
            slot.registration.definition = next
            return true
        } ?? false
    }

    /// Lets the child's hook decide.
    private func reaction(
        of key: String,
        to value: ConfigurationValue,
        _ timeout: Duration,
        orBack change: (next: ChildDefinition, former: ChildDefinition)
    ) async throws -> Reconfiguration {
        guard state.withLock({ $0.isRunning(key) }) else { return .restart }
        do {
            let request = Reconfigure(configuration: CarriedConfiguration(value: value))
            let answer = try await cell.request(request, by: cell.runtime.time.now + timeout) { deliver($0, to: key, [], isDirect: true) }
            return try answer.decoded(as: Reconfiguration.self)
        } catch let error as CoordinatorError where [.peerLost, .restarting, .unhandled, .noSuchPath].contains(error.code) {
            // The life was lost, and the next one begins with the new value; or its program doesn't know the request.
            return .restart
        } catch {
            _ = replace(change.next, with: change.former, of: key)
            throw error
        }
    }
}

/// A request to a coordinator to take another configuration, in its turn among the coordinator's messages.
struct Reconfigure: BuiltinMessage {
    static var builtin: Builtin { .reconfigure }
    typealias Reply = Reconfiguration
    var configuration: CarriedConfiguration
}

/// A complete configuration in a message: the value itself within a process, JSON between processes.
struct CarriedConfiguration: Codable, Sendable {
    let value: ConfigurationValue

    init(value: ConfigurationValue) { self.value = value }

    init(from decoder: any Decoder) throws {
        let json = try JSONValue(from: decoder)
        value = .encoded(.json, try PayloadCoder.encode(json, as: .json), isComplete: true)
    }

    func encode(to encoder: any Encoder) throws { try value.json().encode(to: encoder) }
}

extension CoordinatorCell {
    /// The row of every coordinator that takes a changed configuration.
    static let reconfigureRow = MessageRow(.type(Reconfigure.self)) { coordinator, envelope, receiver, _ in
        let cell = CoordinatorCell.of(receiver)
        let request = try envelope.message(as: Reconfigure.self)
        return .value(try await cell.type.reconfigure(cell, coordinator, request.configuration.value))
    }
}
