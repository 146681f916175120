public import Supervision

/// A change of a child.
///
/// More cases may be added.
@nonexhaustive
public enum LifecycleChange: Sendable, Hashable, Codable {
    /// The child is ready, and the parent hasn't started it itself.
    case started
    /// The child has ended and isn't started again by itself.
    case stopped(ExitReason)
    /// The child has ended unexpectedly; `restarted` follows, or `gaveUp`, or, if the child is temporary, `stopped`.
    case crashed(ExitReason)
    /// The child is ready again, as another incarnation.
    case restarted
    /// The child has been paused: messages to it wait.
    case paused
    /// The child has been resumed.
    case resumed
    /// The child could not be started.
    case startFailed(ExitReason)
    /// The child failed more often than its parent's policy allows, or for good.
    case gaveUp(ExitReason)
}
