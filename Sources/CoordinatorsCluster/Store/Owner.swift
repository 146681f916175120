import FoundationEssentials
public import Ownership

/// The owner of a path, or the leader, as the store knows it.
public struct Owner: Hashable, Sendable {
    /// The fencing token of this ownership.
    public let epoch: Epoch
    /// The lease on which the ownership hangs; `nil`: none, because another program has written the key.
    public let lease: LeaseIdentifier?
    /// What the owner has written of itself; `nil` when it can't be read, because another program has written the key.
    public let record: OwnerRecord?

    /// Creates an owner.
    ///
    /// - Parameters:
    ///   - epoch: The fencing token.
    ///   - lease: The lease on which the ownership hangs.
    ///   - record: What the owner has written of itself.
    public init(epoch: Epoch, lease: LeaseIdentifier?, record: OwnerRecord?) {
        (self.epoch, self.lease, self.record) = (epoch, lease, record)
    }

    /// Reads the owner from the entry of its key.
    ///
    /// - Parameter entry: The entry of a key ``StoreKey/owner(_:)`` or ``StoreKey/leader``.
    public init(_ entry: StoreEntry) {
        self.init(epoch: Epoch(rawValue: entry.created.rawValue), lease: entry.lease, record: OwnerRecord(json: entry.value))
    }
}

/// What an owner or a leader tells the other nodes of itself.
public struct OwnerRecord: StoreValue {
    /// The owner's node.
    public var node: NodeName
    /// The address at which the node takes messages of other nodes.
    public var address: String
    /// The number of the present life of what runs at the path; it grows while the epoch stays.
    public var incarnation: UInt64

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - node: The owner's node.
    ///   - address: The address at which the node takes messages of other nodes.
    ///   - incarnation: The number of the present life of what runs at the path.
    public init(node: NodeName, address: String, incarnation: UInt64 = 0) {
        (self.node, self.address, self.incarnation) = (node, address, incarnation)
    }

    /// Reads a record from its JSON; `nil` when the text isn't a record.
    ///
    /// - Parameter json: The bytes of an entry's value.
    public init?(json: [UInt8]) {
        guard let form = try? JSONDecoder().decode(Form.self, from: Data(json)), let node = NodeName(form.node) else { return nil }
        self.init(node: node, address: form.address, incarnation: form.incarnation)
    }

    /// The record as JSON, as the store keeps it.
    public var json: [UInt8] { JSONText.bytes(of: Form(node: node.description, address: address, incarnation: incarnation)) }

    private struct Form: Codable {
        let node: String
        let address: String
        let incarnation: UInt64
    }
}
