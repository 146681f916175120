import ConcurrencySupport
import Control
import Coordinators

extension TreeMetrics {
    /// - Parameter asks: The times of the asks; nil: they aren't counted.
    init(_ asks: AskDurations?) {
        let counted = (asks?.histograms ?? [:]).map { key, histogram in
            Asks(
                path: key.path,
                message: key.message,
                hasFailed: key.hasFailed,
                count: histogram.count,
                sumSeconds: Double(histogram.sum) / 1e9,
                buckets: histogram.counts
            )
        }
        self.init(
            isCounting: asks != nil,
            boundsSeconds: Histogram.bounds.map { Double($0.nanosecondsClamped) / 1e9 },
            asks: counted.sorted { ($0.path, $0.message, $0.hasFailed ? 1 : 0) < ($1.path, $1.message, $1.hasFailed ? 1 : 0) }
        )
    }
}
