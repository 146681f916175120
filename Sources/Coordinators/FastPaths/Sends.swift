// Saves: 60 % of the processor time of a one-way message to another process: 5,990 ns without it, 2,410 ns with it; 75 % of the time of one
// within the process: 2,680 ns without it, 665 ns with it.
// Measured: `Measure one-way place=worker`, five rounds in turn: 248,000 messages a second without it, 595,000 with it; `Measure one-way`,
// five rounds, on a slower machine: 374,000 and 1,504,000.
// Off: COORDINATORS_SLOW_PATH_ONLY: each message is an open ask of its sender until it's accepted, and is flushed at once.

import ConcurrencySupport
import Links
import WireProtocol

// MARK: - A one-way message that needs no wait

extension CoordinatorCell {
    /// Sends a one-way message up the chain to a row of this process, if the row's coordinator takes it at once.
    ///
    /// - Returns: Whether it was taken; otherwise nothing has happened to it, and it has to take the whole way.
    func sendsAtOnce<M: ResponderMessage>(_ message: M, deadline: MonotonicTime?) -> Bool {
        let type = ObjectIdentifier(Swift.type(of: message))
        guard existingOpenAsks?.isClosed != true, let (responder, row) = responderAtOnce(to: type) else { return false }
        return responder._withUnsafeGuaranteedRef { responder in
            row._withUnsafeGuaranteedRef { responder.takesAtOnce(message, $0, from: path, deadline: deadline) }
        }
    }

    /// Returns the coordinator of this process whose row a message comes to first; `nil` if that isn't known, or has to be looked at.
    ///
    /// A recursion, as in the search for the shortcut of an ask.
    private func responderAtOnce(to message: ObjectIdentifier) -> (Unmanaged<CoordinatorCell>, Unmanaged<MessageRow>)? {
        if let row = type.table.firstRow(for: message) { return (.passUnretained(self), row) }
        guard !type.table.hasPrefixes, border == nil else { return nil }
        return parent?.responderAtOnce(to: message)
    }

    /// Takes a message that has no other end than to be accepted, if there is room and nothing else is to be decided about it.
    private func takesAtOnce<M: ResponderMessage>(
        _ message: M,
        _ row: MessageRow,
        from sender: CoordinatorPath,
        deadline: MonotonicTime?
    ) -> Bool {
        guard row.inline == nil, !row.isInterceptor, row.needs.isEmpty else { return false }
        let size = Envelope.size(of: M.self)
        // A trace is in the envelope, and so is what a handler that awaits can be found by.
        if row.accepted != nil, !row.interleaves, TraceContext.current == nil,
            takesAtOnce({ $0.take(AcceptedMessage(body: message, sender: sender, size: size, row: row), of: size) })
        {
            return true
        }
        let envelope = Envelope(.value(message), sender: sender, deadline: deadline, isOneWay: true)
        let isFromSubtree = isFromSubtree(sender)
        return takesAtOnce { mailbox in
            guard !mailbox.isCrowded, mailbox.takeAll(envelope, row, isFromSubtree: isFromSubtree) else { return false }
            // Before it can begin, or be given up with the coordinator.
            envelope.accept()
            return true
        }
    }

    @inline(__always)
    private func takesAtOnce(_ take: (inout Mailbox) -> Bool) -> Bool {
        let (isTaken, run) = state.withLock { state -> (Bool, MailboxRun?) in
            guard state.life.phase == .starting || state.life.phase == .active, take(&state.mailbox) else { return (false, nil) }
            return (true, state.mailboxRunToBegin())
        }
        if let run { runMailbox(run) }
        return isTaken
    }
}

// MARK: - Messages that come one after the other

extension CoordinatorCell {
    /// The number of messages that are worth a turn of their own.
    private static let enough = 32
    /// About the time in which a sender of this process sends as many: a lock that sender and receiver take for each message takes longer.
    private static let pause = Duration.microseconds(2)

    /// Lets senders send more messages, if few have come since the last turn.
    func waitForMore(than tally: Mailbox.Tally) {
        guard tally.count > 0, tally.count < Self.enough else { return }
        let end = MonotonicTime.now + Self.pause
        while MonotonicTime.now < end {}
    }
}

// MARK: - A one-way message without an envelope

extension CoordinatorCell {
    /// Sends a one-way message to a coordinator above this process, if it leaves at once and nothing more is to be done for it.
    ///
    /// - Returns: Whether a coordinator responds; `nil` if the message has to take the whole way.
    func sendUp<M: ResponderMessage>(_ message: M) throws(CoordinatorError) -> Bool? {
        guard let uplink = runtime.links.uplink, existingOpenAsks?.isClosed != true, leavesProcess(ObjectIdentifier(M.self)) else {
            return nil
        }
        return try uplink.send(message, from: path)
    }

    /// Returns whether no coordinator of this process, from here up, has a row for messages of a type.
    ///
    /// A recursion, as in the search for the shortcut of an ask.
    private func leavesProcess(_ message: ObjectIdentifier) -> Bool {
        guard case .none = type.table.directRows.match(for: message) else { return false }
        return parent?.leavesProcess(message) ?? true
    }
}

extension Uplink {
    /// Sends a one-way message on its way up, if it leaves at once and nothing more is to be done for it.
    ///
    /// - Returns: Whether a coordinator above responds; `nil` if the message has to take the whole way.
    func send<M: ResponderMessage>(_ message: M, from sender: CoordinatorPath) throws(CoordinatorError) -> Bool? {
        let (peer, directory) = state.withLock { ($0.peerForMessages, $0.above.directory) }
        guard let peer, let entry = directory?.simpleEntry(for: M.self) else { return nil }
        return try peer.send(message, called: entry.name, from: sender, as: entry.isOfThisBuild ? .compact : peer.codec) ? true : nil
    }
}

extension Peer {
    /// Sends a one-way message that wants no answer, if it can leave now.
    ///
    /// - Returns: Whether the message has left; otherwise it has to wait, or can't be sent.
    func send<M: ResponderMessage>(
        _ message: M,
        called name: String,
        from sender: CoordinatorPath,
        as codec: PayloadCodec
    ) throws(CoordinatorError) -> Bool {
        let payload = Bytes(try PayloadCoder.encode(message, as: codec))
        let trace = Self.acceptable(TraceContext.current?.bytes ?? [])
        let size = Envelope.size(ofPayload: payload.count)
        let hasLeft = state.withLock { state -> Bool in
            guard !state.phase.isClosed, !state.phase.isDraining, state.windows.takeOpen(route: name, size: size) else { return false }
            do throws(LinkError) {
                try link.append { intern in
                    let content = Send(target: 0, sender: intern(sender.description), message: intern(name), trace: trace, payload: payload)
                    return Frame(.send(content), codec: codec)
                }
                return true
            } catch {
                state.windows.takeBack(size, route: name)
                return false
            }
        }
        if hasLeft { link.flushSoon() }
        return hasLeft
    }
}

extension ResponderDirectory {
    /// An entry for messages of one type, for which nothing more is to be done than to send them.
    struct SimpleEntry: Sendable {
        let name: String
        let isOfThisBuild: Bool
    }

    /// Returns the entry for messages of a type; `nil` if no coordinator above responds, an interceptor comes first, or the runtime has a part
    /// in their way.
    func simpleEntry<M: ResponderMessage>(for message: M.Type) -> SimpleEntry? {
        let type = ObjectIdentifier(message)
        if let known = simpleEntries.withLock({ $0[type] }) { return known }
        let name = M.wireName
        let isOrdinary = !Builtins.isName(name) && name != Navigate.name
        let simple =
            isOrdinary
            ? entry(for: name).flatMap { entry in
                entry.isIntercepted ? nil : SimpleEntry(name: name, isOfThisBuild: entry.isOfThisBuild)
            } : nil
        simpleEntries.withLock { $0[type] = .some(simple) }
        return simple
    }
}
