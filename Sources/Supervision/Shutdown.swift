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

extension Shutdown {
    /// The time that a child is given to end; `nil` if it is unlimited.
    package var grace: Duration? {
        switch self {
        case .brutalKill: .zero
        case .timeout(let duration), .draining(let duration): duration
        case .infinity: nil
        }
    }

    /// Whether the child first finishes what it has taken.
    package var drains: Bool {
        if case .draining = self { true } else { false }
    }

    /// The time in which the child finishes what it has taken; `nil` if it doesn't.
    package var drain: Duration? {
        guard case .draining(let duration) = self else { return nil }
        return max(duration * 5 / 6, duration - .seconds(5))
    }

    /// Returns the shutdown of a child whose parent drains: the child drains too, within the time that is left.
    package func draining(within limit: Duration) -> Shutdown {
        switch self {
        case .brutalKill: .brutalKill
        case .timeout(let duration), .draining(let duration): .draining(min(duration, limit))
        case .infinity: .draining(limit)
        }
    }

    /// Returns the shutdown, with no more time than this.
    package func limited(to limit: Duration) -> Shutdown {
        switch self {
        case .brutalKill: .brutalKill
        case .timeout(let duration): .timeout(min(duration, limit))
        case .draining(let duration): .draining(min(duration, limit))
        case .infinity: .timeout(limit)
        }
    }

    /// Whether this shutdown grants at most as much time as the other.
    package func isShorter(than other: Shutdown) -> Bool {
        guard let limit = other.grace else { return true }
        return grace.map { $0 <= limit } ?? false
    }
}
