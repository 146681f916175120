import ConcurrencySupport
import WireProtocol
import WorkerLifecycle

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
                return state.machine.mayBeLinked && state.waiting.kept.take(message) ? .kept : .none
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
