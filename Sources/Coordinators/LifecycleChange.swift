public import Supervision

/// What has happened to a child.
public enum LifecycleChange: Sendable, Hashable {
    /// It's ready, by somebody else's doing than the parent's.
    case started
    /// It has ended and will not come back by itself.
    case stopped(ExitReason)
    /// It has ended unexpectedly; a restart follows.
    case crashed(ExitReason)
    /// It's ready again, as another incarnation.
    case restarted
    /// It could not be started.
    case startFailed(ExitReason)
    /// It failed more often than its parent's policy allows, or for good.
    case gaveUp(ExitReason)
}
