import ConcurrencySupport

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
