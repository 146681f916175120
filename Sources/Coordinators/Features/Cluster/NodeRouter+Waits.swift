import Links
import WireProtocol

// Messages that this node has taken for a child here, and that have waited since: for a life of the child, or for room on the way to its process.
//
// The child may have another owner by now. This node needn't have heard of that, if it was stopped itself: so each message is compared with the
// clock again, as when it was taken.
extension NodeRouter {
    /// Returns whether a message that has waited may still go to the child at a path, or below it; another one is sent elsewhere, or refused.
    func diverts(_ message: Waiting, at path: CoordinatorPath) -> Bool {
        let keys = path.components
        guard let key = keys.first.map(String.init), !stillTakes(message.envelope, for: key) else { return false }
        divert(Waiting(envelope: message.envelope, rest: (keys.dropFirst() + message.rest)[...], isDirect: message.isDirect), for: key)
        return true
    }

    /// Returns whether a message that has waited for room on the way to a worker may still go there.
    func stillTakes(_ message: Peer.Outgoing) -> Bool {
        guard let key = CoordinatorPath(message.target)?.components.first else { return true }
        return stillTakes(message.envelope, for: String(key))
    }

    /// Sends a message elsewhere, or refuses it, that has waited for room on the way to a worker.
    func divert(_ message: Peer.Outgoing) {
        guard let keys = CoordinatorPath(message.target)?.components, let key = keys.first else { return }
        divert(Waiting(envelope: message.envelope, rest: keys.dropFirst(), isDirect: message.isDirect), for: String(key))
    }

    private func stillTakes(_ envelope: Envelope, for key: String) -> Bool {
        if let (_, target) = Self.sender(of: envelope) { return children.takes(target.key, epoch: target.epoch) }
        // What runtimes say to one another within this node is about the child that is here.
        return envelope.isBuiltin || [nil, .here].contains(children.place(of: key))
    }

    /// Refuses a message of another node, which has it back then; one of this node's own waits for the next owner.
    private func divert(_ message: Waiting, for key: String) {
        guard let (peer, target) = Self.sender(of: message.envelope) else { return takeBack(message, for: key) { _ in } }
        // Before it's refused: later ones must not be taken.
        peer.owner.refusedLate(target.text)
        let error = "\(path(of: key)) isn't on this node any more in epoch \(target.epoch)"
        message.envelope.end(.failure(CoordinatorError(.notHere, error)))
    }

    /// Returns the link on which a coordinator of another node has sent a message, and for what; `nil` for other messages.
    private static func sender(of envelope: Envelope) -> (Peer, NodeTarget)? {
        guard case .peer(let peer, let arrival) = envelope.asker, peer.correspondent == .node else { return nil }
        return arrival.route.flatMap(NodeTarget.init).map { (peer, $0) }
    }
}
