public import Ownership

/// What runs subtrees on a node: the daemon, or a test.
public protocol SubtreeHost: Sendable {
    /// Starts a subtree, and returns when it's started or is going to be, without a further call.
    ///
    /// A host that has started a subtree reports its end beyond all restarts by ``ClusterNode/gaveUp(_:epoch:because:)``.
    ///
    /// - Parameters:
    ///   - path: The path of the subtree.
    ///   - epoch: The epoch under which the node owns it.
    /// - Throws: An error when the subtree can't run here; nothing is left of it then.
    func start(_ path: String, epoch: Epoch) async throws

    /// Takes nothing for a subtree and writes nothing of it from now on; returns at once.
    ///
    /// - Parameters:
    ///   - path: The path of the subtree.
    ///   - epoch: The epoch that is over.
    func fence(_ path: String, epoch: Epoch)

    /// Stops a subtree, if it runs, and returns when nothing is left of it. A call without `drains` hastens one with it.
    ///
    /// - Parameters:
    ///   - path: The path of the subtree.
    ///   - drains: Whether the subtree gets its time to end; else it's killed.
    func stop(_ path: String, drains: Bool) async

    /// Takes note of what the node sees of the cluster from now on; returns at once.
    ///
    /// - Parameter view: The keys of the cluster.
    func viewChanged(_ view: ClusterView)
}

extension SubtreeHost {
    /// Ignores the view.
    public func viewChanged(_ view: ClusterView) {}
}
