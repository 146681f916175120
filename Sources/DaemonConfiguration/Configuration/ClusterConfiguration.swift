/// The daemon as a node of a cluster.
public struct ClusterConfiguration: Codable, Hashable, Sendable {
    /// The places where the nodes of a cluster agree.
    public enum Store: Codable, Hashable, Sendable {
        /// The members of etcd at these addresses, such as `https://10.0.0.1:2379`.
        case etcd([String])
        /// The daemon's memory, for one node alone; the epochs are kept in this directory.
        case directory(String)
    }

    /// The certificates by which etcd or other nodes and the node know each other; paths of PEM files.
    public struct Security: Codable, Hashable, Sendable {
        /// The authority whose certificates the others have; nil: those that the system trusts.
        public var authority: String?
        /// The node's certificate; nil: none is asked for.
        public var certificate: String?
        /// The key of the node's certificate.
        public var key: String?
        /// The lists of the certificates that each authority has revoked; nil: none is known to be.
        public var revocations: String?

        /// Creates security settings without any.
        public init() {}
    }

    /// What becomes of the node's subtrees when its lease can't be renewed in time.
    public enum StoreLoss: String, Codable, Hashable, Sendable, CaseIterable {
        /// They are stopped before another node can own them.
        case fence
        /// They go on, and no others are taken.
        case freeze
    }

    /// The place at which the node takes what other nodes pass on to it.
    public struct Links: Codable, Hashable, Sendable {
        /// The host and the port at which the node listens.
        public var listen: String
        /// The host and the port at which other nodes reach it; nil: as it listens.
        public var address: String?
        /// The path of the file with the secret that all nodes of the cluster have.
        public var tokenFile: String
        /// The certificates by which the nodes know each other; all three are there.
        public var security: Security

        /// Creates the settings of links.
        public init(listen: String, address: String? = nil, tokenFile: String, security: Security) {
            (self.listen, self.address, self.tokenFile, self.security) = (listen, address, tokenFile, security)
        }
    }

    /// The cluster's name.
    public var name: String
    /// The node's name; nil: the host's.
    public var node: String?
    /// The place where the nodes agree.
    public var store: Store
    /// The time for which the store keeps the node's lease when it isn't renewed.
    public var timeToLive = Duration.seconds(5)
    /// What the node has, for subtrees that want it.
    public var labels: [String: String] = [:]
    /// The total of the weights of subtrees that the node may have; nil: any.
    public var capacity: Int?
    /// The certificates of `https` endpoints.
    public var security = Security()
    /// The user of etcd, and the file with the password; nil: etcd asks for none.
    public var user: String?
    /// The path of the file with the user's password.
    public var passwordFile: String?
    /// What becomes of the node's subtrees when its lease can't be renewed in time.
    public var onStoreLoss = StoreLoss.fence
    /// Whether subtrees move to nodes that have joined later.
    public var rebalances = false

    /// The place at which the node takes what other nodes pass on; nil: it doesn't listen for other nodes, and passes nothing on.
    public var links: Links?

    /// Creates a configuration with the defaults of the file.
    public init(name: String, store: Store) { (self.name, self.store) = (name, store) }
}

/// What a child that is placed by the cluster wants of the node on which it runs.
public struct ClusterPlacement: Codable, Hashable, Sendable {
    /// The labels that the node has to have, all of them.
    public var labels: [String: String] = [:]
    /// A group of which a node has one child at most; nil: none.
    public var apart: String?
    /// The part of a node's capacity that the child takes.
    public var weight = 1
    /// The number of nodes from which the child may be moved on because it fails there.
    public var moves = 3

    /// Creates what a child without wishes has.
    public init() {}
}
