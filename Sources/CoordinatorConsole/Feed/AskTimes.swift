import Control

/// The times of the asks between one point of the figures and the next, from counts that go on since the daemon's start.
struct AskTimes: Sendable {
    /// The asks of one point.
    struct Point: Sendable {
        /// The asks that the coordinators at the paths have answered or intercepted.
        var each: [String: AskHistogram] = [:]
        /// All of them together.
        var total: AskHistogram
    }

    private struct Key: Hashable, Sendable {
        var path: String
        var message: String
        var hasFailed: Bool
    }

    /// The counts at the last point; nil: there was none.
    private var former: [Key: [UInt64]]?

    /// Returns the asks since the last point; nil at the first one, and while the daemon doesn't count them.
    mutating func next(_ metrics: TreeMetrics) -> Point? {
        guard metrics.isCounting else {
            former = nil
            return nil
        }
        var latest: [Key: [UInt64]] = [:]
        var point = Point(total: AskHistogram(bounds: metrics.boundsSeconds))
        for asks in metrics.asks where asks.buckets.count == metrics.boundsSeconds.count + 1 {
            let key = Key(path: asks.path, message: asks.message, hasFailed: asks.hasFailed)
            latest[key] = asks.buckets
            let added = Self.added(asks.buckets, to: former?[key])
            point.total.add(added)
            point.each[asks.path, default: AskHistogram(bounds: metrics.boundsSeconds)].add(added)
        }
        defer { former = latest }
        return former == nil ? nil : point
    }

    /// Returns what has come to the former counts; everything when one has shrunk, since another daemon counts from nothing.
    private static func added(_ latest: [UInt64], to former: [UInt64]?) -> [UInt64] {
        guard let former, former.count == latest.count, zip(former, latest).allSatisfy(<=) else { return latest }
        return zip(latest, former).map { $0 - $1 }
    }
}

/// Asks, counted by the time that they took.
struct AskHistogram: Sendable {
    /// The upper bounds of the buckets, in seconds.
    let bounds: [Double]
    /// The number of asks in each bucket, the last of which has no bound.
    private(set) var counts: [UInt64]

    init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    mutating func add(_ other: [UInt64]) {
        for (index, count) in other.enumerated() where counts.indices.contains(index) {
            counts[index] = counts[index].addingReportingOverflow(count).partialValue
        }
    }

    /// Returns the time within which a share of the asks was answered, in seconds; nil without asks.
    ///
    /// Within a bucket the asks count as spread evenly, and beyond the last bound as equal to it:
    /// https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile
    func quantile(_ share: Double) -> Double? {
        let rank = share * counts.reduce(0) { $0 + Double($1) }
        guard rank > 0 else { return nil }
        var (reached, lower) = (0.0, 0.0)
        for (bound, count) in zip(bounds, counts) {
            if reached + Double(count) >= rank { return lower + (bound - lower) * (rank - reached) / Double(count) }
            (reached, lower) = (reached + Double(count), bound)
        }
        return bounds.last
    }
}
