public import Ownership

/// The key of an entry; with etcd, `/coordinators/CLUSTER/` and the key's text.
///
/// The paths of keys begin with a slash, as those of coordinators do.
public enum StoreKey: Hashable, Sendable {
    /// A node that lives: a ``NodeRecord`` on the node's lease. The text is `nodes/NAME`.
    case node(NodeName)
    /// What is to run at a path. The text is `desired/PATH`.
    case desired(String)
    /// The node that the leader has chosen for a path. The text is `assign/PATH`.
    case assignment(String)
    /// The owner of a path: an ``OwnerRecord`` on the lease of the owner's node. The text is `owners/PATH`.
    case owner(String)
    /// The leader: an ``OwnerRecord`` on the lease of the leader's node. The text is `leader`.
    case leader
    /// What an owner leaves to the next one. The text is `checkpoint/PATH`.
    case checkpoint(String)

    /// The part of the store to which the key belongs.
    public var folder: StoreFolder {
        switch self {
        case .node: .nodes
        case .desired: .desired
        case .assignment: .assignments
        case .owner: .owners
        case .leader: .leader
        case .checkpoint: .checkpoints
        }
    }

    /// The path of a key that has one.
    public var path: String? {
        switch self {
        case .desired(let path), .assignment(let path), .owner(let path), .checkpoint(let path): path
        case .node, .leader: nil
        }
    }
}

extension StoreKey: LosslessStringConvertible {
    /// The text of the key below that of the cluster.
    public var description: String {
        switch self {
        case .node(let name): "\(folder.rawValue)/\(name)"
        case .leader: folder.rawValue
        case .desired(let path), .assignment(let path), .owner(let path), .checkpoint(let path):
            folder.rawValue + (path.hasPrefix("/") ? path : "/" + path)
        }
    }

    /// Reads a key; `nil` when the text isn't one.
    ///
    /// - Parameter description: The text of the key below that of the cluster.
    public init?(_ description: String) {
        guard let slash = description.firstIndex(of: "/") else {
            guard description == StoreFolder.leader.rawValue else { return nil }
            self = .leader
            return
        }
        let path = String(description[slash...])
        switch StoreFolder(rawValue: String(description[..<slash])) {
        case .nodes:
            guard let name = NodeName(String(path.dropFirst())) else { return nil }
            self = .node(name)
        case .desired: self = .desired(path)
        case .assignments: self = .assignment(path)
        case .owners: self = .owner(path)
        case .checkpoints: self = .checkpoint(path)
        case .leader, nil: return nil
        }
    }
}

/// A part of the store.
public enum StoreFolder: String, Hashable, Sendable, CaseIterable {
    /// The nodes that live.
    case nodes
    /// What is to run.
    case desired
    /// The nodes that the leader has chosen.
    case assignments = "assign"
    /// The owners of paths.
    case owners
    /// The leader alone.
    case leader
    /// What owners leave to the next ones.
    case checkpoints = "checkpoint"
}

/// Keys that are listed or watched together.
public enum StoreRange: Hashable, Sendable {
    /// All keys of the cluster.
    case everything
    /// The keys of one part of the store.
    case folder(StoreFolder)
    /// One key.
    case key(StoreKey)

    /// Returns whether a key is one of these.
    ///
    /// - Parameter key: The key.
    public func contains(_ key: StoreKey) -> Bool {
        switch self {
        case .everything: true
        case .folder(let folder): key.folder == folder
        case .key(let own): key == own
        }
    }
}
