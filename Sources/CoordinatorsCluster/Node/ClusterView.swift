public import Ownership

/// The keys of a cluster as a node has seen them last.
public struct ClusterView: Sendable {
    /// A value with the revisions of its key.
    public struct Known<Value: Hashable & Sendable>: Hashable, Sendable {
        /// The value.
        public let value: Value
        /// The revision of its last change.
        public let modified: StoreRevision
        /// The lease with which it goes.
        public let lease: LeaseIdentifier?
    }

    /// The nodes that live, by name.
    public private(set) var nodes: [NodeName: Known<NodeRecord>] = [:]
    /// What subtrees want, by path.
    public private(set) var wishes: [String: Known<SubtreeWish>] = [:]
    /// The nodes that the leader has chosen, by path.
    public private(set) var assignments: [String: Known<SubtreeAssignment>] = [:]
    /// The owners, by path.
    public private(set) var owners: [String: Owner] = [:]
    /// The leader.
    public private(set) var leader: Owner?
    /// The revision that the view has reached.
    public private(set) var revision = StoreRevision(rawValue: 0)

    /// Creates a view of nothing.
    public init() {}

    /// Creates a view of a listing.
    ///
    /// - Parameter listing: All entries of the cluster.
    public init(_ listing: StoreListing) {
        for entry in listing.entries { apply(StoreChange(key: entry.key, revision: entry.modified, entry: entry)) }
        revision = listing.revision
    }

    /// Takes note of a change.
    ///
    /// - Parameter change: The change, which may be older than what is known.
    public mutating func apply(_ change: StoreChange) {
        revision = max(revision, change.revision)
        note(change)
    }

    /// Takes note of a change of one's own before the watch tells of it: changes of others with lower revisions are still to come.
    ///
    /// - Parameter change: The change.
    mutating func note(_ change: StoreChange) {
        switch change.key {
        case .node(let name): Self.set(&nodes[name], change) { NodeRecord(json: $0) }
        case .desired(let path): Self.set(&wishes[path], change) { SubtreeWish(json: $0) }
        case .assignment(let path): Self.set(&assignments[path], change) { SubtreeAssignment(json: $0) }
        case .owner(let path): owners[path] = change.entry.map(Owner.init)
        case .leader: leader = change.entry.map(Owner.init)
        case .checkpoint: break
        }
    }

    private static func set<Value>(_ place: inout Known<Value>?, _ change: StoreChange, _ read: ([UInt8]) -> Value?) {
        if let place, place.modified > change.revision { return }
        place = change.entry.flatMap { entry in
            read(entry.value).map { Known(value: $0, modified: change.revision, lease: entry.lease) }
        }
    }
}
