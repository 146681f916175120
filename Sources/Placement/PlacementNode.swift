public import Ownership

/// A node as the placer sees it: what it has, and whether it takes subtrees.
public struct PlacementNode: Hashable, Sendable {
    /// The node's name.
    public var name: NodeName
    /// What the node has, such as `disk=ssd`.
    public var labels: Set<String>
    /// The total of the weights of subtrees that the node may have; `nil`: any.
    public var capacity: Int?
    /// The share of subtrees that the node gets, relative to the weights of others; greater than zero.
    public var weight: Int
    /// Whether the node gives its subtrees over and takes none.
    public var isDraining: Bool

    /// Creates a node.
    ///
    /// - Parameters:
    ///   - name: The node's name.
    ///   - labels: What the node has, such as `disk=ssd`.
    ///   - capacity: The total of the weights of subtrees that the node may have; `nil`: any.
    ///   - weight: The share of subtrees that the node gets, relative to the weights of others; greater than zero.
    ///   - isDraining: Whether the node gives its subtrees over and takes none.
    public init(_ name: NodeName, labels: Set<String> = [], capacity: Int? = nil, weight: Int = 1, isDraining: Bool = false) {
        precondition(weight > 0, "A node's weight is greater than zero")
        (self.name, self.labels, self.capacity, self.weight, self.isDraining) = (name, labels, capacity, weight, isDraining)
    }
}
