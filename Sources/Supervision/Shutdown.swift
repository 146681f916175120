/// How long a child is given to stop.
///
/// As in OTP: https://www.erlang.org/doc/apps/stdlib/supervisor.html#t:shutdown/0
public enum Shutdown: Sendable, Hashable, Codable {
    /// No time at all: it is killed.
    case brutalKill
    /// It is asked to stop, and killed when it has not ended within this time.
    case timeout(Duration)
    /// It is asked to stop and waited for: right for a child that is a supervisor itself.
    case infinity
}
