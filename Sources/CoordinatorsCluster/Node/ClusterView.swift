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
    public private(set) var wishes: [String: Known<PlacementConstraints>] = [:]
    /// The nodes that the leader has chosen, by path.
    public private(set) var assignments: [String: Known<SubtreeAssignment>] = [:]
    /// The owners, by path.
    public private(set) var owners: [String: Owner] = [:]
    /// The leader.
    public private(set) var leader: Owner?
    /// The entries that can't be read, with the revisions of their last changes.
    ///
    /// A node or an owner whose entry can't be read counts as none. What a subtree wants, and the node that was chosen for it, stay as they were
    /// read last: nothing is stopped or moved by an entry that says nothing.
    public private(set) var unreadable: [StoreKey: StoreRevision] = [:]
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

    /// Creates a view of a listing that follows an earlier view.
    ///
    /// - Parameters:
    ///   - listing: All entries of the cluster.
    ///   - former: The view so far, from which values stay whose entries can't be read any more.
    init(_ listing: StoreListing, after former: ClusterView) {
        self.init(listing)
        for key in unreadable.keys {
            switch key {
            case .desired(let path): wishes[path] = former.wishes[path]
            case .assignment(let path): assignments[path] = former.assignments[path]
            case .node, .owner, .leader, .checkpoint: break
            }
        }
    }

    /// Takes note of a change.
    ///
    /// - Parameter change: The change, which may be older than what is known.
    public mutating func apply(_ change: StoreChange) {
        revision = max(revision, change.revision)
        anticipate(change)
    }

    /// Takes note of a change of one's own before the watch tells of it: changes of others with lower revisions are still to come.
    ///
    /// - Parameter change: The change.
    mutating func anticipate(_ change: StoreChange) {
        switch change.key {
        case .node(let name): set(\.nodes[name], change, staysWhenUnreadable: false) { $0.name == name }
        case .desired(let path): set(\.wishes[path], change, staysWhenUnreadable: true)
        case .assignment(let path): set(\.assignments[path], change, staysWhenUnreadable: true)
        case .owner(let path): set(\.owners[path], change)
        case .leader: set(\.leader, change)
        case .checkpoint: break
        }
    }

    /// Returns the revision of the last change of a path's assignment; `nil` when there is none.
    func assignmentRevision(of path: String) -> StoreRevision? {
        unreadable[.assignment(path)] ?? assignments[path]?.modified
    }

    private mutating func set(_ place: WritableKeyPath<ClusterView, Owner?>, _ change: StoreChange) {
        let owner = change.entry.map(Owner.init)
        self[keyPath: place] = owner
        unreadable[change.key] = owner.map { $0.record == nil } == true ? change.revision : nil
    }

    private mutating func set<Value: StoreValue>(
        _ place: WritableKeyPath<ClusterView, Known<Value>?>,
        _ change: StoreChange,
        staysWhenUnreadable: Bool,
        _ isValid: (Value) -> Bool = { _ in true }
    ) {
        let latest = max(self[keyPath: place]?.modified ?? change.revision, unreadable[change.key] ?? change.revision)
        if latest > change.revision { return }
        if let entry = change.entry, let value = Value(json: entry.value), isValid(value) {
            self[keyPath: place] = Known(value: value, modified: change.revision, lease: entry.lease)
            unreadable[change.key] = nil
        } else {
            let isUnreadable = change.entry != nil
            unreadable[change.key] = isUnreadable ? change.revision : nil
            if !isUnreadable || !staysWhenUnreadable { self[keyPath: place] = nil }
        }
    }
}
