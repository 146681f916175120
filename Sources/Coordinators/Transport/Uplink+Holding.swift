import ConcurrencySupport

/// The messages upwards while another program is about to take the root's place.
extension Uplink {
    /// Lets new messages wait for the next link, or go on.
    ///
    /// What is on its way isn't affected, and the worker's answers aren't either.
    func obey(_ request: MessageHold) {
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
