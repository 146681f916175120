/// The time that a child is given to stop.
///
/// As in OTP: https://www.erlang.org/doc/apps/stdlib/supervisor.html#t:shutdown/0. `draining` is an addition.
public enum Shutdown: Sendable, Hashable, Codable {
    /// No time: the child is killed at once.
    case brutalKill
    /// The child is asked to stop, and killed if it has not ended within this time.
    case timeout(Duration)
    /// The child is asked to stop, and its end is awaited without a limit: right for a child that is a supervisor itself.
    case infinity
    /// The child takes no new work, finishes what it has taken and the job of its `run` hook, and then stops, all within this time.
    ///
    /// The last sixth of the time, 5 s at most, is kept for what isn't finished by then, which is cancelled, and for the child's own
    /// clean-up. The ends of the coordinators below the child count too: they drain first. A plain program is asked to stop at once.
    case draining(Duration)
}
