import ConcurrencySupport

/// The child to which a row hands messages on.
enum ForwardTarget: Sendable {
    /// The child with a key.
    case key(String)
    /// The first child whose type has a name.
    case type(name: String)
}

extension MessageRow {
    /// Creates a row that hands messages on to a child.
    convenience init(_ match: Match, forwardingTo target: ForwardTarget) {
        self.init(
            match,
            // Whether the child has a row for the message isn't known here: a one-way message is accepted by the child alone.
            isInterceptor: true,
            isRelay: true,
            interleaves: true,
            inline: InlineRow(forwardingTo: target),
            // For a message that had to wait in the mailbox, because the coordinator was paused.
            body: { _, envelope, node, index in
                let onward = ChainContinuation(node: node, envelope: envelope, index: index)
                let answer = try await onward.next(envelope.body, isOneWay: envelope.isOneWay, delivery: envelope.delivery) {
                    node.forward($0, to: target)
                }
                return envelope.hasReplied ? .none : answer
            }
        )
    }
}

/// The messages that wait for children which the coordinator's `open(section:)` hook is about to start, by key.
typealias WaitingForChildren = [String: ChildSlot.Parking]

extension Node {
    /// Hands a message on to a child, as it is.
    func forward(_ envelope: Envelope, to target: ForwardTarget) {
        switch target {
        case .key(let key): forward(envelope, toChild: key)
        case .type(let name):
            if let child = existingChildren?.handles.first(where: { $0.typeName == name }) { return forward(envelope, toChild: child.key) }
            if keepForStart(envelope, of: target) { return }
            envelope.end(.failure(CoordinatorError(.noSuchChild, "\(path) has no child of the type \(name)")))
        }
    }

    private func forward(_ envelope: Envelope, toChild key: String) {
        // A message that arrives while the child is opened comes after those that wait for that.
        if joinWaiting(envelope, for: key) { return }
        if knownChildren?.deliverIfPresent(envelope, to: key, [], isDirect: true) == true { return }
        if keepForStart(envelope, of: .key(key)) { return }
        let mustOpen = state.withLock { state -> Bool in
            guard state.life.phase != .stopped, state.extras.waitingForChildren[key] == nil else { return false }
            state.extras.waitingForChildren[key] = ChildSlot.Parking()
            return true
        }
        if !joinWaiting(envelope, for: key) { return envelope.end(.failure(CoordinatorError.hasStopped(path))) }
        // What the coordinator does in its hook is no part of the handler that has sent the message.
        if mustOpen { HandlerScope.perform(in: nil) { _ = handle { await self.openForWaiting(key) } } }
    }

    /// Keeps a message of an adopted worker for a child whose start may be still to come.
    ///
    /// - Returns: False when there is nothing to wait for.
    private func keepForStart(_ envelope: Envelope, of target: ForwardTarget) -> Bool {
        guard runtime.mayStillStart(for: envelope) else { return false }
        let message = ChildSlot.ParkedMessage(envelope: envelope, rest: [], isDirect: true)
        return children.keep(EarlyMessage(message: message, target: target, isForwarded: true))
    }

    /// Adds a message to those that wait for a child to be opened.
    ///
    /// - Returns: False when the child isn't being opened.
    private func joinWaiting(_ envelope: Envelope, for key: String) -> Bool {
        let message = ChildSlot.ParkedMessage(envelope: envelope, rest: [], isDirect: true)
        let isTaken = state.withLock { state -> Bool? in
            guard state.extras.waitingForChildren[key] != nil else { return nil }
            return state.extras.waitingForChildren[key]?.take(message)
        }
        guard let isTaken else { return false }
        if !isTaken {
            let path = path.appending(key)
            envelope.end(.failure(CoordinatorError(.mailboxFull, "as many messages, or bytes of them, wait for \(path) as may")))
        }
        return true
    }

    /// Opens a child by the coordinator's hook, and delivers the messages that have waited for it.
    private func openForWaiting(_ key: String) async {
        do {
            guard let instance = state.withLock({ $0.life.instance }) else { throw CoordinatorError.hasStopped(path) }
            try await type.open(instance, key)
            while let messages = takeWaiting(for: key) {
                for message in messages where !message.envelope.hasEnded { children.deliver(message.envelope, to: key, [], isDirect: true) }
            }
        } catch {
            // The hook's own error; the messages have not begun, whatever the hook has asked others.
            let failure: any Error =
                switch error {
                case is CancellationError where isStopping: CoordinatorError.hasStopped(path)
                case let error as CoordinatorError: CoordinatorError(error.code, error.message)
                default: Failures.crossable(error)
                }
            let waiting = state.withLock { $0.extras.waitingForChildren.removeValue(forKey: key) }
            for message in waiting?.messages ?? [] { message.envelope.end(.failure(failure)) }
        }
        endDrainWaits()
    }

    /// Ends the messages that wait for children of a coordinator that has stopped.
    func endWaitingForChildren() {
        let waiting = state.withLock { state -> WaitingForChildren in
            guard !state.extras.waitingForChildren.isEmpty else { return [:] }
            defer { state.extras.waitingForChildren = [:] }
            return state.extras.waitingForChildren
        }
        for message in waiting.values.flatMap(\.messages) { message.envelope.end(.failure(CoordinatorError.hasStopped(path))) }
    }

    /// Removes and returns the messages that wait for a child that was opened; `nil` when there are none, from which time on messages go to
    /// the child itself.
    private func takeWaiting(for key: String) -> [ChildSlot.ParkedMessage]? {
        state.withLock { state in
            let messages = state.extras.waitingForChildren[key]?.removeAll() ?? []
            if messages.isEmpty { state.extras.waitingForChildren[key] = nil }
            return messages.isEmpty ? nil : messages
        }
    }
}
