import ConcurrencySupport
import DequeModule
import Links
import WireProtocol
import WorkerLifecycle

extension Uplink {
    /// The number of moves of pages that are kept while there is no link.
    private static let movesLimit = 1_024
    /// The largest size of a message's frame besides the payload: the header, a trace context and numbers.
    private static let headroom = 128 + Peer.traceLimit

    /// Whether all processes above speak the compact codec.
    var isCompact: Bool { state.withLock { $0.above.isCompact } }

    /// The directory of the rows above; `nil` while there is none, or when the parent doesn't tell it.
    var directory: ResponderDirectory? { state.withLock { $0.above.directory } }

    /// Sends a message to the parent of this process's own coordinator, from which the message climbs.
    ///
    /// - Returns: False when no coordinator above responds to the message: it has not left.
    func climb(_ envelope: Envelope) -> Bool {
        let (peer, directory) = state.withLock { ($0.peerForMessages, $0.above.directory) }
        guard let directory, !envelope.isBuiltin else {
            forward(envelope, to: "", isDirect: false)
            return true
        }
        let name = envelope.body.wireName
        let entry = directory.entry(for: name)
        // The peer refuses names that no message may have.
        if entry == nil, !Builtins.isName(name), name.utf8.count <= FrameLimits.default.maximumNameLength { return false }
        if peer?.forward(envelope, to: "", isDirect: false, above: entry) != true {
            keep(KeptMessage(envelope: envelope, target: "", isDirect: false), after: peer)
        }
        return true
    }

    /// Sends a message on its way up.
    ///
    /// - Parameter target: The path of a coordinator elsewhere in the tree; empty: from the parent of this process's own coordinator
    ///   upwards.
    func forward(_ envelope: Envelope, to target: String, isDirect: Bool) {
        if envelope.isOneWay, envelope.body.name == Builtin.navigate.name { return forwardMove(envelope) }
        let peer = state.withLock { $0.peerForMessages }
        if peer?.forward(envelope, to: target, isDirect: isDirect) != true {
            keep(KeptMessage(envelope: envelope, target: target, isDirect: isDirect), after: peer)
        }
    }

    /// Sends a move on the stack of pages, on the next link if there is none at the moment.
    private func forwardMove(_ envelope: Envelope) {
        let isKept = moves.withLock { moves -> Bool in
            // The move must not be sent before those that wait already.
            if moves.isEmpty, state.withLock({ $0.peerForMessages })?.forward(envelope, to: "", isDirect: false) == true { return true }
            guard moves.count < Self.movesLimit else { return false }
            moves.append(envelope)
            // The move waits here, and is no longer under way on the link by which it arrived.
            envelope.release()
            return true
        }
        if isKept { return }
        let message = "\(Self.movesLimit) moves of pages wait for the parent of \(ticket.path)"
        envelope.end(.failure(CoordinatorError(.peerLost, message, maybeExecuted: false)))
    }

    func forwardKeptMoves(to peer: Peer) {
        moves.withLock { moves in
            while let first = moves.first, peer.forward(first, to: "", isDirect: false) { moves.removeFirst() }
        }
    }

    /// Waits until the messages that this process has taken over from processes below have left, for as long as some do.
    ///
    /// Their senders have ended, and regard them as accepted: those that can't leave become dead letters.
    func sendRelayed() async {
        let error = CoordinatorError(.stopped, "the process of \(ticket.path) has ended, and the message has waited there for credit")
        await state.withLock { $0.peer }?.settleMessages(patience: .seconds(1), error)
    }

    /// Returns the reason why a move can't be sent to the stack's owner; `nil` when it can.
    func refusal(of move: some BuiltinMessage) -> CoordinatorError? {
        let limit = (state.withLock { $0.peer }?.link.maximumFrameSize ?? FrameLimits.default.maximumFrameSize) - Self.headroom
        do throws(CoordinatorError) {
            // The processes further up may speak either codec.
            let size = max(try PayloadCoder.encode(move, as: .json).count, try PayloadCoder.encode(move, as: .compact).count)
            return size <= limit ? nil : CoordinatorError(.messageTooLarge, "the page takes \(size) bytes, more than \(limit)")
        } catch {
            return error
        }
    }

    /// Asks the processes above to dismiss this process's coordinator.
    func requestDismissal(timeout: Duration) async -> Bool {
        guard let peer = state.withLock({ $0.peer }) else { return false }
        let request = DismissalRequest(timeout: timeout)
        return (try? await peer.inspect(DismissalRequest.operation, "", request.payload, timeout: timeout)) == .bool(true)
    }

    /// Tells the processes above that this process's coordinator has had nothing to do for its idle time-out.
    func reportIdle() async {
        guard let peer = state.withLock({ $0.peer }) else { return }
        _ = try? await peer.inspect(IdleNotice.operation, "", .null, timeout: .seconds(5))
    }

    /// Sends a notification of the runtime to the process above.
    ///
    /// - Returns: False when there is no link, or the notification can't be encoded or sent.
    func notify(_ name: String, _ value: some Codable & Sendable) -> Bool {
        guard let peer = state.withLock({ $0.peer }), let payload = try? PayloadCoder.encode(value, as: .json) else { return false }
        // Notifications at the end are few, and can't be sent later.
        let isBounded = !state.withLock { $0.machine.isEnding }
        return (try? peer.notify(name, .json, payload, isBounded: isBounded)) != nil
    }

    /// Sends the parent an event of the coordinator for its delegates.
    ///
    /// - Throws: `CoordinatorError` when the event can't be encoded or sent.
    func emit(_ event: Answer) throws {
        guard let peer = state.withLock({ $0.peer }) else { throw CoordinatorError(.peerLost, "the link is down") }
        let payload = try event.encoded(as: peer.codec)
        do throws(LinkError) {
            try peer.notify("", peer.codec, payload)
        } catch {
            switch error.code {
            case .frameTooLarge: throw CoordinatorError(.messageTooLarge, "the event: \(error.message)")
            case .congested: throw CoordinatorError(.mailboxFull, error.message)
            default: throw CoordinatorError(.peerLost, error.message)
            }
        }
    }

    /// Sends a frame now and on every later link, so that it arrives even if this link is lost; the owner learns that it can never be sent.
    func announce(_ frame: Frame, lane: Link.Lane = .control) {
        let peer = state.withLock { state in
            state.standing.append(frame)
            return state.peer
        }
        if let peer { announce(frame, to: peer, lane) }
    }

    /// Tells what is announced on one link.
    func announce(_ frame: Frame, to peer: Peer, _ lane: Link.Lane) {
        if let error = peer.send(frame, lane: lane), error.code == .frameTooLarge { owner?.announcementRefused(error) }
    }

    /// Tells the parent that this process is to be killed, because a handler doesn't end.
    func tellHung(_ text: String) { announce(Frame(.exited(Exited(reason: Exit(kind: .hung, message: text.shortened))))) }

    /// Sends a frame on the present link.
    ///
    /// - Returns: The reason why the frame could not be sent.
    @discardableResult
    func send(_ frame: Frame, lane: Link.Lane = .control) -> LinkError? {
        guard let peer = state.withLock({ $0.peer }) else { return LinkError(.peerClosed, "the link is down") }
        return peer.send(frame, lane: lane)
    }

    /// The number of transmissions on the present link so far; while it grows, the parent reads.
    var transmissions: UInt64 { state.withLock { $0.peer }?.link.transmissions ?? 0 }
}

// MARK: - Messages that wait for the next link

/// The messages that wait for the next link while the parent is searched, bounded and in order.
///
/// The next link begins with them: those that the former one has given back come first, then those that were sent meanwhile.
extension Uplink {
    /// A message on its way up that waits for the next link.
    struct KeptMessage: Parked {
        let envelope: Envelope
        /// The path of a coordinator elsewhere in the tree; empty: the message climbs.
        let target: String
        let isDirect: Bool
    }

    private enum Place {
        case kept
        /// A later link is open.
        case peer(Peer)
        /// The parent was given up, or as much waits as may.
        case none
    }

    /// Keeps a message that has not left, or sends it on a link that has come meanwhile.
    ///
    /// - Parameter former: The link by which the message could not leave, if there was one.
    func keep(_ message: KeptMessage, after former: Peer?) {
        var former = former
        while true {
            let place = state.withLock { state -> Place in
                if let peer = state.peerForMessages, peer !== former { return .peer(peer) }
                return state.machine.mayBeLinked && state.waiting.kept.park(message) ? .kept : .none
            }
            switch place {
            case .kept: return
            case .none: return endUnreachable(message.envelope)
            case .peer(let peer):
                if pass(message, to: peer) { return }
                former = peer
            }
        }
    }

    /// Keeps a message that a link has given back, before all later ones and beyond the limits, because it was accepted already.
    func keep(returned message: KeptMessage) {
        let isKept = state.withLock { state in
            guard state.machine.mayBeLinked else { return false }
            state.waiting.kept.takeBack(message)
            return true
        }
        if !isKept { endUnreachable(message.envelope) }
    }

    /// Sends messages that have waited.
    ///
    /// - Returns: False if the link has closed; the messages that it has not taken wait again.
    func pass(_ messages: [KeptMessage], to peer: Peer) -> Bool {
        var isOpen = true
        for message in messages where !message.envelope.hasEnded {
            isOpen = isOpen && pass(message, to: peer)
            if !isOpen { keep(returned: message) }
        }
        return isOpen
    }

    private func pass(_ message: KeptMessage, to peer: Peer) -> Bool {
        let isClimbing = message.target.isEmpty && !message.envelope.isBuiltin
        let entry = isClimbing ? directory?.entry(for: message.envelope.body.wireName) : nil
        return peer.forward(message.envelope, to: message.target, isDirect: message.isDirect, above: entry)
    }

    /// Ends the messages that wait, because no link comes any more.
    func endKeptMessages() {
        for message in state.withLock({ $0.waiting.kept.removeAll() }) { endUnreachable(message.envelope) }
    }

    private func endUnreachable(_ envelope: Envelope) {
        let text = "the parent of \(ticket.path) can't be reached"
        envelope.end(.failure(CoordinatorError(.peerLost, text, maybeExecuted: envelope.mayBeHandled)))
    }
}

// MARK: - Messages that wait while the root is replaced

/// The messages upwards while another program is about to take the root's place.
extension Uplink {
    /// Lets new messages wait for the next link, or go on.
    ///
    /// What is on its way isn't affected, and the worker's answers aren't either.
    func obey(_ request: UplinkHold) {
        switch request {
        case .hold: state.withLock { $0.waiting.isHeld = true }
        case .release:
            let (peer, messages) = state.withLock { state -> (Peer?, [KeptMessage]) in
                state.waiting.isHeld = false
                // Without a link, the next one begins with the messages.
                guard let peer = state.peer else { return (nil, []) }
                return (peer, state.waiting.kept.removeAll())
            }
            guard let peer else { return }
            if pass(messages, to: peer) { forwardKeptMoves(to: peer) }
        }
    }
}

// MARK: - The root's request to hold messages

/// A request of the root to its workers while another program is about to take the root's place.
enum UplinkHold: String {
    /// New messages upwards wait.
    case hold
    /// They go on.
    case release
}
