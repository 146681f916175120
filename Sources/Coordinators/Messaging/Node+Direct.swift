import ConcurrencySupport

extension Node {
    /// Returns the row of an ask that can run in the asker's task: its responder is in this process, and the row is inline, or the responder
    /// is idle and the row doesn't suspend.
    func directRow<M: ResponderMessage>(for message: M.Type) -> (DirectRow<M>, any Coordinator, Node)? {
        // Tasks that a stopped coordinator has left running can't ask.
        guard !openAsks.isClosed else { return nil }
        var node = self
        while true {
            if let row = node.type.table.onlyRow(for: message) {
                guard let direct = row.direct as? DirectRow<M> else { return nil }
                let taken = row.inline == nil ? node.takeDirectAsk(Envelope.size(of: M.self)) : node.instanceForInlineAsk()
                guard let instance = taken else { return nil }
                return (direct, instance, node)
            }
            // Another row may match by the name, or the message leaves the process.
            guard node.type.table.isPlain(for: message), let parent = node.parent else { return nil }
            node = parent
        }
    }

    /// Claims the coordinator for a direct ask, if no message waits for it or is handled: the ask is then the next.
    private func takeDirectAsk(_ size: Int) -> (any Coordinator)? {
        guard !runtime.tap.isActive else { return nil }
        let priority = Task.currentPriority
        return state.withLock { state in
            guard state.life.phase == .active, state.mailbox.reserve(size, priority) else { return nil }
            return state.life.instance
        }
    }

    /// Begins a direct ask, which now runs on its coordinator's executor; messages that have arrived meanwhile begin after it.
    ///
    /// - Returns: False when the coordinator is stopping.
    func directAskBegins(_ size: Int) -> Bool {
        let (isActive, instance) = state.withLock { state -> (Bool, (any Coordinator)?) in
            state.mailbox.endReservation(size)
            return (state.life.phase == .active, state.instanceToDrain())
        }
        if let instance { beginDraining(instance) }
        return isActive
    }
}

extension Node.State {
    /// Whether no handler runs, and none is about to begin.
    var isIdle: Bool { handlers.running.isEmpty && !mailbox.isDraining }

    /// Removes and returns the callers that wait until no handler runs, if none does.
    mutating func takeIdleWaiters() -> [CheckedContinuation<Void, Never>] {
        guard !handlers.idleWaiters.isEmpty, isIdle else { return [] }
        defer { handlers.idleWaiters = [] }
        return handlers.idleWaiters
    }

    /// Removes and returns the drains that wait, if every message is handled.
    mutating func takeDrainWaiters() -> [OneShot<Void>] {
        guard !handlers.drainWaiters.isEmpty, mailbox.messageCount == 0 else { return [] }
        defer { handlers.drainWaiters = [] }
        return handlers.drainWaiters
    }

    /// Returns the coordinator, if the caller must begin to drain its mailbox.
    mutating func instanceToDrain() -> (any Coordinator)? {
        guard let instance = life.instance, mailbox.beginDraining() else { return nil }
        return instance
    }
}
