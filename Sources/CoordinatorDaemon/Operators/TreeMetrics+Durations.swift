import ConcurrencySupport
import Control
import Coordinators

extension TreeMetrics {
    /// - Parameters:
    ///   - asks: The times of the asks; nil: they aren't counted.
    ///   - unreadableEntries: The number of entries of the cluster's store that can't be read; nil: there is no cluster.
    ///   - clusterFiles: The files of the node's certificates and secrets; nil: there is no cluster.
    init(_ asks: AskDurations?, unreadableEntries: Int?, clusterFiles: [ClusterFile]?) {
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
            asks: counted.sorted { ($0.path, $0.message, $0.hasFailed ? 1 : 0) < ($1.path, $1.message, $1.hasFailed ? 1 : 0) },
            unreadableEntries: unreadableEntries,
            clusterFiles: clusterFiles
        )
    }
}
