public import Ownership

/// What must hold at the moment at which a value is written.
public enum StoreGuard: Hashable, Sendable {
    /// The owner of a path is still that of the epoch.
    case owner(of: String, epoch: Epoch)
    /// The leader is still that of the epoch.
    case leader(epoch: Epoch)
    /// The leader is still that of the epoch, and the key is as it was at its last change, which had this revision; `nil`: there is no such
    /// key.
    case placement(by: Epoch, since: StoreRevision?)
    /// The node's entry still hangs on the lease.
    case node(NodeLease)
    /// The key itself is as it was at its last change, which had this revision; `nil`: there is no such key.
    case unchanged(since: StoreRevision?)
}
