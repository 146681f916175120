extension OwnershipMachine {
    /// The progress of the node's membership.
    public enum State: Hashable, Sendable {
        /// The node has no lease that it trusts, and asks for one. Can transition to: member, left.
        case joining(Request)
        /// The node has a lease, and owns subtrees until its deadline. Can transition to: frozen, joining, left.
        case member(Lease)
        /// The lease wasn't renewed in time, and the node goes on with what it owns. Can transition to: member, joining, left.
        case frozen(Lease)
        /// The node has given everything back. Can transition to: nothing.
        case left
    }

    /// A lease, and the progress of its renewal.
    public struct Lease: Hashable, Sendable {
        /// The number by which the store knows the lease.
        public let id: Int64
        /// The time at which the node stops to trust it.
        public internal(set) var deadline: Duration
        /// The renewal that is due or under way.
        public internal(set) var request: Request
    }

    /// A request to the store, which is repeated until it's answered.
    public enum Request: Hashable, Sendable {
        /// The request is sent at this time. Can transition to: sent.
        case due(at: Duration)
        /// The request was sent at this time. Can transition to: due, sent.
        case sent(at: Duration)

        /// The time at which the request is sent, or sent again.
        func dueTime(_ terms: LeaseTerms) -> Duration {
            switch self {
            case .due(let time): time
            case .sent(let time): time + terms.tryTimeout
            }
        }
    }

    /// A subtree, as this node sees it.
    public struct Subtree: Hashable, Sendable {
        /// The path of its root.
        public let path: String
        /// Whether the leader has assigned it to this node.
        public internal(set) var isAssigned: Bool
        /// The number of nodes from which it was moved on because it failed there.
        public internal(set) var moves: Int
        /// The standing of this node with the subtree.
        public internal(set) var standing: Standing
    }

    /// The standing of a node with a subtree: whether it claims, runs or releases it.
    public enum Standing: Hashable, Sendable {
        /// The node has nothing of it, and claims it at this time. Can transition to: claiming.
        case waiting(until: Duration)
        /// The node claims it. Can transition to: running, waiting, releasing.
        case claiming(Request)
        /// The subtree runs, under this epoch. Can transition to: stopping, ending, releasing.
        case running(Epoch)
        /// The subtree finishes what it has taken, to be handed over. Can transition to: releasing, ending.
        case stopping(Epoch)
        /// The epoch is over, and the subtree is being killed; it was started on this lease. Can transition to: waiting.
        case ending(Epoch, lease: Int64)
        /// Nothing is left of the subtree, and its key is given back. Can transition to: waiting.
        case releasing(Epoch, ReleaseReason, Request)
    }

    /// The lease that the node has, trusted or frozen.
    var lease: Lease? {
        switch state {
        case .member(let lease), .frozen(let lease): lease
        case .joining, .left: nil
        }
    }

    var isMember: Bool {
        if case .member = state { true } else { false }
    }

    func index(of path: String) -> Int? {
        let index = position(of: path)
        return index < subtrees.count && subtrees[index].path == path ? index : nil
    }

    /// The place at which a path is, or would be.
    func position(of path: String) -> Int {
        var (low, high) = (0, subtrees.count)
        while low < high {
            let middle = (low + high) / 2
            if subtrees[middle].path < path { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
