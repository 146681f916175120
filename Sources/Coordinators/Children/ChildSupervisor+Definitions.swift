import ConcurrencySupport
import Supervision

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
