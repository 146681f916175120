import ConcurrencySupport

extension Node {
    /// Finds whether an ask can run in the asker's task: its responder is in this process, idle, and doesn't suspend.
    func directRow<M: ResponderMessage>(for message: M.Type) -> (DirectRow<M>, any Coordinator, Node)? {
        // What is left running of a stopped coordinator asks nobody.
        guard !openAsks.isClosed else { return nil }
        var node = self
        while true {
            if let row = node.type.table.onlyRow(for: message) {
                guard let direct = row.direct as? DirectRow<M>, let instance = node.takeDirectAsk() else { return nil }
                return (direct, instance, node)
            }
            // Something else may be meant by the name, or it leaves the process.
            guard node.type.table.isPlain(for: message), let parent = node.parent else { return nil }
            node = parent
        }
    }

    /// - Returns: the coordinator, if nothing waits for it and nothing runs: the ask is the next.
    private func takeDirectAsk() -> (any Coordinator)? {
        guard !runtime.tap.isActive else { return nil }
        return state.withLock { state in
            guard state.phase == .active, state.handlers.isEmpty, !state.isDirectAskPending, state.mailbox.isIdle else { return nil }
            state.isDirectAskPending = true
            return state.instance
        }
    }

    /// The ask has got its coordinator's executor; what has come meanwhile begins after it.
    ///
    /// - Returns: false when the coordinator is stopping.
    func directAskBegins() -> Bool {
        let (isActive, instance) = state.withLock { state -> (Bool, (any Coordinator)?) in
            state.isDirectAskPending = false
            return (state.phase == .active, state.instanceToDrain())
        }
        if let instance { beginDraining(instance) }
        return isActive
    }
}

extension Node {
    /// Whether the coordinator's own stop has begun.
    var isStopping: Bool {
        state.withLock { state in
            switch state.phase {
            case .starting, .active: false
            case .stopping, .stopped: true
            }
        }
    }
}

extension Node.State {
    /// No handler runs, and none is about to begin.
    var isIdle: Bool { handlers.isEmpty && !mailbox.isDraining }

    /// The coordinator, if somebody has to begin draining its mailbox.
    mutating func instanceToDrain() -> (any Coordinator)? {
        guard let instance, !isDirectAskPending, mailbox.beginDraining() else { return nil }
        return instance
    }
}
