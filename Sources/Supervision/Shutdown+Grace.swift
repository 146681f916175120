extension Shutdown {
    /// How long a child is given to end; `nil`: for ever.
    package var grace: Duration? {
        switch self {
        case .brutalKill: .zero
        case .timeout(let duration): duration
        case .infinity: nil
        }
    }

    /// Whether it grants less time, or as much.
    package func isShorter(than other: Shutdown) -> Bool {
        guard let limit = other.grace else { return true }
        return grace.map { $0 <= limit } ?? false
    }
}
