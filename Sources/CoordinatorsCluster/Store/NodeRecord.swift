import FoundationEssentials
public import Ownership

/// What a node tells the others of itself.
public struct NodeRecord: StoreValue {
    /// The name, unique in the cluster.
    public var name: NodeName
    /// The address at which the node takes messages of other nodes.
    public var address: String
    /// What the node is said to be, for those who place paths on nodes, such as `zone: west`.
    public var labels: [String: String]
    /// The number of paths that the node can own, as weights add up; 0: no limit.
    public var capacity: Int
    /// The version of the node's program.
    public var version: String
    /// Whether the node gives its paths away and takes no others.
    public var isDraining: Bool

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - name: The name, unique in the cluster.
    ///   - address: The address at which the node takes messages of other nodes.
    ///   - labels: What the node is said to be.
    ///   - capacity: The number of paths that the node can own, as weights add up; 0: no limit.
    ///   - version: The version of the node's program.
    ///   - isDraining: Whether the node gives its paths away and takes no others.
    public init(
        name: NodeName,
        address: String,
        labels: [String: String] = [:],
        capacity: Int = 0,
        version: String = "",
        isDraining: Bool = false
    ) {
        (self.name, self.address, self.labels, self.capacity) = (name, address, labels, capacity)
        (self.version, self.isDraining) = (version, isDraining)
    }

    /// Reads a record from its JSON; `nil` when the text isn't a record, or a number is out of the bounds of ``StoreBounds``.
    ///
    /// - Parameter json: The bytes of an entry's value.
    public init?(json: [UInt8]) {
        guard let form = try? JSONDecoder().decode(Form.self, from: Data(json)), let name = NodeName(form.name),
            StoreBounds.weights.contains(form.capacity)
        else { return nil }
        self.init(
            name: name,
            address: form.address,
            labels: form.labels,
            capacity: form.capacity,
            version: form.version,
            isDraining: form.isDraining
        )
    }

    /// The record as JSON, as the store keeps it.
    public var json: [UInt8] {
        JSONText.bytes(
            of: Form(
                name: name.description,
                address: address,
                labels: labels,
                capacity: capacity,
                version: version,
                isDraining: isDraining
            )
        )
    }

    private struct Form: Codable {
        let name: String
        let address: String
        let labels: [String: String]
        let capacity: Int
        let version: String
        let isDraining: Bool
    }
}
