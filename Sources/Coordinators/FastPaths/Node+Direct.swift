import ConcurrencySupport

extension Node {
    /// The way of an ask that is known before there is a message.
    enum Shortcut {
        /// A row of the message's type that can run in the asker's task: its responder is in this process, and the row is inline, or the
        /// responder is idle and the row doesn't suspend.
        case row(DirectAsk)
        /// No coordinator up to the root responds.
        case unhandled
        /// Instruments observe the ask.
        case observed
    }

    /// Returns the shortcut of an ask; `nil` if it has to take the whole way.
    ///
    /// - Parameters:
    ///   - message: The type of the message.
    ///   - size: The size of the message in bytes.
    @inline(__always)
    func shortcut(for message: ObjectIdentifier, size: Int) -> Shortcut? {
        runtime.instruments.areActive ? .observed : shortcutWithinInstruments(for: message, size: size)
    }

    /// Returns the shortcut of an ask that the instruments know of.
    @inline(__always)
    func shortcutWithinInstruments(for message: ObjectIdentifier, size: Int) -> Shortcut? {
        // Tasks that a stopped coordinator has left running can't ask.
        existingOpenAsks?.isClosed == true ? nil : ownShortcut(for: message, size)
    }

    /// Returns the shortcut from here up.
    private func ownShortcut(for message: ObjectIdentifier, _ size: Int) -> Shortcut? {
        // Not retained: the counts of references of the coordinators on the way are shared by all askers.
        var node = Unmanaged.passUnretained(self)
        while true {
            switch node._withUnsafeGuaranteedRef({ $0.type.table.match(for: message) }) {
            case .direct(let row): return node._withUnsafeGuaranteedRef { $0.claim(row, size) }.map { .row($0) }
            case .other: return nil
            case .none:
                guard let parent = node._withUnsafeGuaranteedRef({ $0.parentInside }) else {
                    return node._withUnsafeGuaranteedRef { $0.isRoot } ? .unhandled : nil
                }
                node = parent
            }
        }
    }

    /// The parent, unless there is a border in between.
    private var parentInside: Unmanaged<Node>? { border == nil ? parent.map { .passUnretained($0) } : nil }

    /// Returns the ask that a row of this coordinator can handle in the asker's task.
    private func claim(_ row: Unmanaged<AnyDirectRow>, _ size: Int) -> DirectAsk? {
        let instance = row._withUnsafeGuaranteedRef { $0.isInline } ? instanceForInlineRow() : takeDirectAsk(size)
        return instance.map { DirectAsk(row: row, responder: .passUnretained(self), instance: $0) }
    }

    /// Claims the coordinator for a direct ask, if no message waits for it or is handled: the ask is then the next.
    private func takeDirectAsk(_ size: Int) -> (any Coordinator)? {
        let priority = Task.currentPriority.rawValue
        return state.withLock { state in
            guard state.life.phase == .active, state.mailbox.reserve(size, priority) else { return nil }
            return state.life.instance
        }
    }

    /// Begins a direct ask, which now runs on its coordinator's executor; messages that have arrived meanwhile begin after it.
    ///
    /// - Returns: False when the coordinator is stopping.
    func directAskBegins(_ size: Int) -> Bool {
        let (isActive, draining) = state.withLock { state -> (Bool, Draining?) in
            let isActive = state.life.phase == .active
            state.mailbox.endReservation(size, isHandled: isActive)
            return (isActive, state.drainingToBegin())
        }
        if let draining { begin(draining) }
        return isActive
    }
}

extension Node {
    /// Whether a message isn't handled yet, or not handed on to a child.
    var hasMessages: Bool { state.withLock { $0.hasMessages } }
}

extension Node.State {
    /// Whether no handler runs, and none is about to begin.
    var isIdle: Bool { handlers.running.isEmpty && !mailbox.isDraining }

    /// Removes and returns the callers that wait until no handler runs, if none does.
    mutating func takeIdleWaiters() -> [CheckedContinuation<Void, Never>] {
        guard hasExtras, !extras.idleWaiters.isEmpty, isIdle else { return [] }
        defer { extras.idleWaiters = [] }
        return extras.idleWaiters
    }

    /// Whether a message isn't handled yet, or not handed on to a child.
    var hasMessages: Bool { mailbox.messageCount > 0 || hasExtras && !extras.waitingForChildren.isEmpty }

    /// Returns the draining of the mailbox, if the caller must begin it.
    mutating func drainingToBegin() -> Draining? {
        // The instance is retained only by the caller that needs it.
        guard life.instance != nil, mailbox.beginDraining(), let instance = life.instance else { return nil }
        return Draining(coordinator: instance, number: handlers.addDraining())
    }
}
