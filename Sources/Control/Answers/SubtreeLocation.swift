/// The place of a subtree that the cluster places.
public struct SubtreeLocation: Codable, Hashable, Sendable {
    /// The path of the subtree's root.
    public var path: String
    /// Why what follows may not be true any more: it's what the daemon has seen before it lost the store; nil: it's true.
    public var outdated: String?
    /// The node that owns it; nil: none.
    public var node: String?
    /// The epoch of the owner, by which receivers refuse what earlier owners write; nil: there is no owner.
    public var epoch: UInt64?
    /// The node to which the leader has assigned it; nil: none, or one that isn't a member any more.
    public var assigned: String?
    /// The node to which an operator has pinned it; nil: none.
    public var pinned: String?
    /// The nodes on which it has failed beyond its limit of restarts.
    public var failedOn: [String]
    /// Why it has failed on nodes, by their names; nil: that isn't known of any.
    public var failures: [String: String]?
    /// Whether it has failed on as many nodes as it may, and isn't placed before an operator moves it.
    public var isGivenUp: Bool
    /// Whether an operator has stopped it on all nodes, until it's started again; nil: it isn't stopped.
    public var isStopped: Bool?
    /// Why it isn't where it's wanted: on any node, away from one that drains, or on the node to which it's pinned; nil: nothing keeps it.
    public var blocked: String?

    /// Creates a place.
    public init(
        path: String,
        node: String? = nil,
        epoch: UInt64? = nil,
        assigned: String? = nil,
        pinned: String? = nil,
        failedOn: [String] = [],
        isGivenUp: Bool = false
    ) {
        self.path = path
        self.node = node
        self.epoch = epoch
        self.assigned = assigned
        self.pinned = pinned
        self.failedOn = failedOn
        self.isGivenUp = isGivenUp
    }

    private enum CodingKeys: String, CodingKey {
        case path, outdated, node, epoch, assigned, pinned, failures, blocked
        case isStopped = "stopped"
        case failedOn = "failed_on"
        case isGivenUp = "given_up"
    }
}
