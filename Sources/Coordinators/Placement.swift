/// Where a child lives.
public enum Placement: Sendable, Hashable {
    /// In the process of its parent.
    case inProcess
    /// In a worker process of its own, together with its subtree.
    case worker
}
