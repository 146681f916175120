public import Ownership

/// What a placer has decided: the moves that lead from the present assignments to those that are wanted.
public struct PlacementPlan: Hashable, Sendable {
    /// A subtree that gets another node.
    public struct Move: Hashable, Sendable {
        /// The path of the subtree.
        public let path: String
        /// The node that it's assigned to; `nil`: none, or one that isn't a member any more.
        public let from: NodeName?
        /// The node that it gets.
        public let to: NodeName
        /// Why it moves.
        public let reason: Reason
    }

    /// The reason of a move.
    public enum Reason: Hashable, Sendable {
        /// The subtree has no node yet.
        case new
        /// Its node isn't a member any more.
        case nodeLeft(NodeName)
        /// Its node drains.
        case drained
        /// An operator wants it there.
        case pinned
        /// It has failed on its node.
        case failed
        /// Its node hasn't the labels any more that it wants.
        case labels
        /// Another subtree of its group is there too.
        case group
        /// Its node has more than its capacity.
        case capacity
        /// The node scores higher, and moves for that are wanted.
        case rebalanced
    }

    /// A subtree that gets no node.
    public struct Unplaced: Hashable, Sendable {
        /// The path of the subtree.
        public let path: String
        /// The node that it's assigned to and can't stay on; `nil`: none.
        public let from: NodeName?
        /// Why it gets none.
        public let reason: Refusal
    }

    /// The reason for which a subtree gets no node: what keeps it from the last of the nodes.
    public enum Refusal: Hashable, Sendable {
        /// There is no node that doesn't drain.
        case noNodes
        /// No node has the labels.
        case labels
        /// It has failed on all nodes that have the labels.
        case failed
        /// Each other node has a subtree of its group.
        case group
        /// No other node has the capacity.
        case capacity
        /// It has failed on as many nodes as it may.
        case givenUp
    }

    /// What keeps a subtree from a node.
    public struct Obstacle: Hashable, Sendable {
        /// The node.
        public let node: NodeName
        /// Why it may not have the subtree.
        public let reason: Refusal
        /// The labels that it lacks, or the subtrees that are in the way: that of the group, or those that fill the node.
        public let details: [String]
    }

    /// The moves, by path.
    public internal(set) var moves: [Move] = []
    /// The subtrees that get no node, by path; not those that are stopped on all nodes.
    public internal(set) var unplaced: [Unplaced] = []
    /// The assignments when all moves are done.
    public internal(set) var assignments: [String: NodeName] = [:]
}
