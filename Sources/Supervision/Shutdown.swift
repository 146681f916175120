/// The time that a child is given to stop.
///
/// As in OTP: https://www.erlang.org/doc/apps/stdlib/supervisor.html#t:shutdown/0
public enum Shutdown: Sendable, Hashable, Codable {
    /// No time: the child is killed at once.
    case brutalKill
    /// The child is asked to stop, and killed if it has not ended within this time.
    case timeout(Duration)
    /// The child is asked to stop, and its end is awaited without a limit: right for a child that is a supervisor itself.
    case infinity
}
