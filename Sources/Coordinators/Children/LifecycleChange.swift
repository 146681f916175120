public import Supervision

/// What has happened to a child.
public enum LifecycleChange: Sendable, Hashable, Codable {
    /// It's ready, by somebody else's doing than the parent's.
    case started
    /// It has ended and will not come back by itself.
    case stopped(ExitReason)
    /// It has ended unexpectedly; `restarted` follows, or `gaveUp`.
    case crashed(ExitReason)
    /// It's ready again, as another incarnation.
    case restarted
    /// It has been paused: what is sent to it waits.
    case paused
    /// It goes on.
    case resumed
    /// It could not be started.
    case startFailed(ExitReason)
    /// It failed more often than its parent's policy allows, or for good.
    case gaveUp(ExitReason)
}
