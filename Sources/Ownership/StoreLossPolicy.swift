/// The policy for the subtrees that a node owns when it can't renew its lease in time.
public enum StoreLossPolicy: String, Hashable, Sendable, CaseIterable {
    /// The node stops them before the store can give them to another node. At most one node owns a subtree, and none does while the store is
    /// away for all.
    case fence
    /// The node goes on with the subtrees that it owns, and takes no others, until the store answers: then it has its lease as before, or
    /// stops them if the store has given the lease up.
    ///
    /// It's for a store that is lost for all nodes: no node can claim anything meanwhile, and a store that returns prolongs all leases. It
    /// doesn't promise a single owner. A node that alone is cut off goes on while the others take over, and both run the subtree until the cut
    /// heals. Receivers refuse the older epoch all the same, so nothing is written over the new owner's work; what the old one has answered to
    /// those on its side of the cut stays said. A node that was itself stopped past its deadline is fenced: its own silence doesn't tell that
    /// the store is away.
    case freeze
}
