import ConcurrencySupport

extension ChildSupervisor {
    /// Pauses a child by name, or takes that back; returns when it and those below it have followed.
    ///
    /// - Parameter isByParent: the coordinator itself has asked; it learns by return.
    func pause(_ key: String, _ isPaused: Bool, isByParent: Bool) async throws {
        guard await change(key, .explicit, isPaused, isByParent: isByParent) else { throw noSuchChild(key) }
    }

    /// The coordinator itself has been paused or resumed: those below follow.
    func cascade(isPaused: Bool) async {
        await withDiscardingTaskGroup { group in
            for key in keys { group.addTask { _ = await self.change(key, .cascade, isPaused, isByParent: true) } }
        }
    }

    /// - Returns: false when there is no such child.
    private func change(_ key: String, _ reason: PauseReasons, _ isPaused: Bool, isByParent: Bool) async -> Bool {
        let pauses = state.withLock { state -> AsyncLock? in
            guard let slot = state.slots[key] else { return nil }
            let pauses = slot.pauses ?? AsyncLock()
            state.slots[key]?.pauses = pauses
            return pauses
        }
        guard let pauses else { return false }
        return await pauses.pass { await self.changeInTurn(key, reason, isPaused, isByParent: isByParent) }
    }

    private func changeInTurn(_ key: String, _ reason: PauseReasons, _ isPaused: Bool, isByParent: Bool) async -> Bool {
        let found = state.withLock { state -> (host: (any ChildHost)?, reasons: PauseReasons, didChange: Bool)? in
            guard let former = state.slots[key]?.pauseReasons else { return nil }
            let reasons = isPaused ? former.union(reason) : former.subtracting(reason)
            state.slots[key]?.pauseReasons = reasons
            let isRunning = if case .running = state.machine.state(of: key) { true } else { false }
            return (state.slots[key]?.host, reasons, isRunning && former.isEmpty != reasons.isEmpty)
        }
        guard let found else { return false }
        await found.host?.pause(for: found.reasons)
        if found.didChange { announce(found.reasons.isEmpty ? .resumed : .paused, of: key, toParent: !isByParent) }
        return true
    }
}
