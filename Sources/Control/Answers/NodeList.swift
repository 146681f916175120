/// The nodes of a cluster.
public struct NodeList: Codable, Hashable, Sendable {
    /// One node.
    public struct Entry: Codable, Hashable, Sendable {
        /// The node's name.
        public var name: String
        /// Whether it's the daemon that answers.
        public var isSelf: Bool
        /// Whether it decides which node gets which subtree.
        public var leads: Bool
        /// Whether it gives its subtrees over and takes none.
        public var drains: Bool
        /// What the node has.
        public var labels: [String: String]
        /// The total of the weights of subtrees that it may have; nil: any.
        public var capacity: Int?
        /// The version of its daemon.
        public var version: String
        /// The paths of the subtrees that it owns, as the answering daemon knows them.
        public var subtrees: [String]

        /// Creates an entry.
        public init(
            name: String,
            isSelf: Bool = false,
            leads: Bool = false,
            drains: Bool = false,
            labels: [String: String] = [:],
            capacity: Int? = nil,
            version: String = "",
            subtrees: [String] = []
        ) {
            self.name = name
            self.isSelf = isSelf
            self.leads = leads
            self.drains = drains
            self.labels = labels
            self.capacity = capacity
            self.version = version
            self.subtrees = subtrees
        }

        private enum CodingKeys: String, CodingKey {
            case name, leads, drains, labels, capacity, version, subtrees
            case isSelf = "self"
        }
    }

    /// A subtree that a node which drains still has.
    public struct Leaving: Codable, Hashable, Sendable {
        /// The path of the subtree.
        public var path: String
        /// The node that drains.
        public var node: String
        /// What keeps the subtree there; nil: it's on its way.
        public var blocked: String?

        /// Creates a description.
        public init(path: String, node: String, blocked: String? = nil) {
            (self.path, self.node, self.blocked) = (path, node, blocked)
        }
    }

    /// The cluster's name.
    public var cluster: String
    /// The progress of the answering daemon's membership: `joining`, `member`, `frozen` or `left`.
    public var membership: String
    /// The nodes, by name.
    public var nodes: [Entry]
    /// Why what follows may not be true any more: it's what the daemon has seen before it lost the store; nil: it's true.
    public var outdated: String?
    /// The paths of the subtrees that no node owns, without those that are stopped on all nodes.
    public var homeless: [String]
    /// Why there is no node for a subtree, by path; nil: there is one for each.
    public var unplaced: [String: String]?
    /// The paths of the subtrees that operators have stopped on all nodes; nil: none.
    public var stopped: [String]?
    /// The subtrees that nodes which drain still have; nil: none.
    public var leaving: [Leaving]?

    /// The entries of the cluster's store that can't be read and are ignored, twenty at most; nil: none.
    public var unreadable: [String]?

    /// Creates a list.
    public init(cluster: String, membership: String, nodes: [Entry], homeless: [String] = [], unreadable: [String]? = nil) {
        self.unreadable = unreadable
        self.cluster = cluster
        self.membership = membership
        self.nodes = nodes
        self.homeless = homeless
    }
}
