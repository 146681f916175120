import ConcurrencySupport

extension Node {
    /// Asks the parent, wherever it is, to dismiss this coordinator.
    func requestDismissal(timeout: Duration) async -> Bool {
        await owner?.dismissalRequested(timeout) ?? false
    }
}

extension ChildSupervisor {
    /// A child would like to be dismissed: the coordinator's row decides, in its turn.
    ///
    /// - Returns: whether the child is being stopped. After the time it stays, whatever the row says.
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

    /// Stops and removes a child whose parent, or whose pages, want it no more; a later life isn't meant.
    ///
    /// - Returns: whether it's being stopped.
    @discardableResult
    func dismiss(_ key: String, _ incarnation: Incarnation, _ cause: String) -> Bool {
        let (isDismissed, mustPerform) = state.withLock { state -> (Bool, Bool) in
            guard state.slots[key]?.incarnation == incarnation, state.isAlive(key) else { return (false, false) }
            state.slots[key]?.lastError = CoordinatorError(.dismissed, "\(node.path.appending(key)) \(cause)")
            return (true, state.apply(.removeRequested(key)))
        }
        if mustPerform { performDirectives() }
        return isDismissed
    }
}

extension Node {
    /// Whether the first page of the stack that this coordinator has for itself is a child's.
    fileprivate func isFirstOnOwnStack(_ path: CoordinatorPath) -> Bool {
        guard type.ownsNavigation else { return false }
        return ownNavigation?.entries.first?.path.isWithin(path) ?? false
    }
}
