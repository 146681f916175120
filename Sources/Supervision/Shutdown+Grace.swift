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
