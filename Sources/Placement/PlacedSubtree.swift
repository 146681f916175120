public import Ownership

/// A subtree that is to run on one node of the cluster, and what it wants of that node.
public struct PlacedSubtree: Hashable, Sendable {
    /// The path of its root.
    public var path: String
    /// The labels that its node has to have, all of them.
    public var labels: Set<String>
    /// A group of which a node has one subtree at most; `nil`: none.
    public var group: String?
    /// The part of a node's capacity that it takes; zero or more.
    public var weight: Int
    /// The node on which an operator wants it; `nil`: any.
    ///
    /// A pin is stronger than a score, and weaker than labels, group and capacity.
    public var pin: NodeName?
    /// The nodes on which it has failed beyond its limit of restarts.
    public var failedOn: Set<NodeName>
    /// Whether it has failed on as many nodes as it may, and isn't placed.
    public var isGivenUp: Bool
    /// Whether an operator has stopped it on all nodes: it gets no node, and takes no room.
    public var isStopped: Bool

    /// Creates a subtree.
    ///
    /// - Parameters:
    ///   - path: The path of its root.
    ///   - labels: The labels that its node has to have, all of them.
    ///   - group: A group of which a node has one subtree at most; `nil`: none.
    ///   - weight: The part of a node's capacity that it takes; zero or more.
    ///   - pin: The node on which an operator wants it; `nil`: any.
    ///   - failedOn: The nodes on which it has failed beyond its limit of restarts.
    ///   - isGivenUp: Whether it has failed on as many nodes as it may, and isn't placed.
    ///   - isStopped: Whether an operator has stopped it on all nodes.
    public init(
        _ path: String,
        labels: Set<String> = [],
        group: String? = nil,
        weight: Int = 1,
        pin: NodeName? = nil,
        failedOn: Set<NodeName> = [],
        isGivenUp: Bool = false,
        isStopped: Bool = false
    ) {
        precondition(weight >= 0, "A subtree's weight is zero or more")
        (self.path, self.labels, self.group, self.weight) = (path, labels, group, weight)
        (self.pin, self.failedOn, self.isGivenUp, self.isStopped) = (pin, failedOn, isGivenUp, isStopped)
    }
}
