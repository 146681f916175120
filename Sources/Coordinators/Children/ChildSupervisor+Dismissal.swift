import ConcurrencySupport

extension ChildSupervisor {
    /// Asks the coordinator's row, in its turn, whether a child may be dismissed.
    ///
    /// - Returns: Whether the child is being stopped. When the time is over the child stays, whatever the row decides.
    func dismissalRequested(by life: ChildInstance, timeout: Duration) async -> Bool {
        guard let child = handle(of: life.key), child.incarnation == life.incarnation else { return false }
        let answer = OneShot<DismissalDecision>()
        let timer = Timers.shared.schedule(at: .now + timeout) { answer.settle(.refuse) }
        defer { Timers.shared.cancel(timer) }
        if node.type.table.dismissal != nil {
            node.post(.dismissal(child, answer))
        } else {
            answer.settle(node.isFirstOnOwnStack(child.path) ? .forward : .dismiss)
        }
        switch await answer.value {
        case .refuse: return false
        case .forward: return await node.requestDismissal(timeout: timeout)
        case .dismiss: return dismiss(life.key, life.incarnation, "was dismissed")
        }
    }

    /// Stops and removes a child that its parent dismisses, or whose pages were popped; a later incarnation isn't affected.
    ///
    /// - Returns: Whether the child is being stopped.
    @discardableResult
    func dismiss(_ key: String, _ incarnation: Incarnation, _ cause: String) -> Bool {
        mutateAndPerform { state in
            guard state.isAlive(key) else { return false }
            let isMeant = state.slots.with(key) { slot in
                guard slot.incarnation == incarnation else { return false }
                slot.history.lastError = CoordinatorError(.dismissed, "\(node.path.appending(key)) \(cause)")
                return true
            }
            guard isMeant == true else { return false }
            state.feed(.removeRequested(key))
            return true
        }
    }
}
