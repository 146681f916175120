extension Shutdown {
    /// The time that a child is given to end; `nil` if it is unlimited.
    package var grace: Duration? {
        switch self {
        case .brutalKill: .zero
        case .timeout(let duration): duration
        case .infinity: nil
        }
    }

    /// Whether this shutdown grants at most as much time as the other.
    package func isShorter(than other: Shutdown) -> Bool {
        guard let limit = other.grace else { return true }
        return grace.map { $0 <= limit } ?? false
    }
}
