public import Ownership

/// What a claim of a path, or an election, has come to.
public enum ClaimOutcome: Hashable, Sendable {
    /// The node is the owner, under this epoch.
    case granted(Epoch)
    /// The path has this owner.
    case held(Owner)
    /// The path's assignment isn't that of the claim any more; the path has no owner.
    case notAssigned
}
