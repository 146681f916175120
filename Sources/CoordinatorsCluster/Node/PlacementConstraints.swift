import FoundationEssentials
public import Ownership

/// What a subtree wants of the node on which it runs: the value of ``StoreKey/desired(_:)``.
public struct PlacementConstraints: StoreValue {
    /// The labels that the node has to have, all of them.
    public var labels: [String: String]
    /// A group of which a node has one subtree at most; `nil`: none.
    public var group: String?
    /// The part of a node's capacity that it takes.
    public var weight: Int
    /// The number of nodes from which it may be moved on because it fails there.
    public var moves: Int
    /// The node on which an operator wants it; `nil`: any.
    public var pin: NodeName?
    /// Whether an operator has stopped it on all nodes, until it's started again.
    ///
    /// Nodes of versions that don't know of it skip the member, and run the subtree if the leader is one of them.
    public var isStopped: Bool

    /// Creates a wish.
    ///
    /// - Parameters:
    ///   - labels: The labels that the node has to have, all of them.
    ///   - group: A group of which a node has one subtree at most.
    ///   - weight: The part of a node's capacity that it takes.
    ///   - moves: The number of nodes from which it may be moved on because it fails there.
    ///   - pin: The node on which an operator wants it.
    ///   - isStopped: Whether an operator has stopped it on all nodes.
    public init(
        labels: [String: String] = [:],
        group: String? = nil,
        weight: Int = 1,
        moves: Int = 3,
        pin: NodeName? = nil,
        isStopped: Bool = false
    ) {
        (self.labels, self.group, self.weight, self.moves) = (labels, group, weight, moves)
        (self.pin, self.isStopped) = (pin, isStopped)
    }

    /// Reads a wish from its JSON; `nil` when the text isn't one, or a number is out of the bounds of ``StoreBounds``.
    ///
    /// - Parameter json: The bytes of an entry's value.
    public init?(json: [UInt8]) {
        guard let form = try? JSONDecoder().decode(Form.self, from: Data(json)), StoreBounds.weights.contains(form.weight),
            StoreBounds.moves.contains(form.moves)
        else { return nil }
        self.init(
            labels: form.labels,
            group: form.group,
            weight: form.weight,
            moves: form.moves,
            pin: form.pin.flatMap(NodeName.init),
            isStopped: form.stopped ?? false
        )
    }

    /// The wish as JSON, as the store keeps it.
    public var json: [UInt8] {
        JSONText.bytes(
            of: Form(
                labels: labels,
                group: group,
                weight: weight,
                moves: moves,
                pin: pin?.description,
                stopped: isStopped ? true : nil
            )
        )
    }

    private struct Form: Codable {
        let labels: [String: String]
        let group: String?
        let weight: Int
        let moves: Int
        let pin: String?
        /// Left out unless it's true, so that the value of a subtree that isn't stopped is as earlier versions write it.
        let stopped: Bool?
    }
}

/// The node that the leader has chosen for a subtree, and where the subtree has failed: the value of ``StoreKey/assignment(_:)``.
public struct SubtreeAssignment: StoreValue {
    /// A node on which the subtree has failed beyond its limit of restarts.
    public struct Failure: Hashable, Sendable, Codable {
        /// The name of the node.
        public var node: String
        /// The lease that it had; a node that has joined again since is tried again.
        public var lease: Int64
        /// Why it has failed there; `nil`: that isn't known, as of versions that don't tell.
        public var reason: String?
    }

    /// The node; `nil`: none, since the subtree has failed and isn't placed anew yet.
    public var node: NodeName?
    /// The nodes on which it has failed, in order.
    public var failures: [Failure]
    /// Whether it has failed on as many nodes as it may, and isn't placed before an operator moves it.
    public var isGivenUp: Bool

    /// Creates an assignment.
    ///
    /// - Parameters:
    ///   - node: The node.
    ///   - failures: The nodes on which the subtree has failed.
    ///   - isGivenUp: Whether it has failed on as many nodes as it may.
    public init(node: NodeName?, failures: [Failure] = [], isGivenUp: Bool = false) {
        (self.node, self.failures, self.isGivenUp) = (node, failures, isGivenUp)
    }

    /// Reads an assignment from its JSON; `nil` when the text isn't one.
    ///
    /// - Parameter json: The bytes of an entry's value.
    public init?(json: [UInt8]) {
        guard let form = try? JSONDecoder().decode(Form.self, from: Data(json)), form.failures.count <= StoreBounds.moves.upperBound + 1
        else { return nil }
        self.init(node: form.node.flatMap(NodeName.init), failures: form.failures, isGivenUp: form.isGivenUp)
    }

    /// The assignment as JSON, as the store keeps it.
    public var json: [UInt8] {
        JSONText.bytes(of: Form(node: node?.description, failures: failures, isGivenUp: isGivenUp))
    }

    private struct Form: Codable {
        let node: String?
        let failures: [Failure]
        let isGivenUp: Bool
    }
}
