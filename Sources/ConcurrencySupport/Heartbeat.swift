/// Signs of life that are asked for at intervals, of which so many may be missing in a row.
package struct Heartbeat: Sendable {
    /// What is known of one that was asked for.
    package enum Sign {
        case heard
        case missed
        /// Nobody needs it any more.
        case over
    }

    /// Between two nodes of a cluster.
    package static let ofNodes = Heartbeat(every: .seconds(1), misses: 3)

    /// The time between two of them.
    package var interval: Duration
    /// The number of missing ones in a row after which the other side counts as lost.
    package var misses: Int

    package init(every interval: Duration, misses: Int) { (self.interval, self.misses) = (interval, misses) }

    /// Asks for a sign after each interval.
    ///
    /// - Returns: True when too many are missing; false when it's over, or the task is cancelled.
    package func isLost(isolation: isolated (any Actor)? = #isolation, _ ask: () async -> Sign) async -> Bool {
        var missed = 0
        while (try? await Task.sleep(for: interval)) != nil {
            switch await ask() {
            case .heard: missed = 0
            case .missed:
                missed += 1
                if missed >= misses { return true }
            case .over: return false
            }
        }
        return false
    }
}
