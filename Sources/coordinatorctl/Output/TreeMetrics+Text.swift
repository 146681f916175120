import Control

extension TreeMetrics {
    /// The asks as a table, each line ended by a newline.
    var text: String {
        guard isCounting else { return "asks aren't counted; the daemon's file has no `observability: { metrics: {} }`\n" }
        guard !asks.isEmpty else { return "no asks yet\n" }
        let rows = asks.map { asks in
            [
                TextLayout.printable(asks.path), TextLayout.printable(asks.message), asks.hasFailed ? "failed" : "", "\(asks.count)",
                milliseconds(asks.count == 0 ? 0 : asks.sumSeconds / Double(asks.count)), quantile(0.5, of: asks), quantile(0.99, of: asks),
            ]
        }
        let header = ["PATH", "MESSAGE", "OUTCOME", "COUNT", "MEAN", "P50", "P99"]
        return TextLayout.table([header] + rows, [.left, .left, .left, .right, .right, .right, .right])
    }

    /// Returns the bound of the bucket in which a share of the asks is reached.
    private func quantile(_ share: Double, of asks: Asks) -> String {
        var reached = 0.0
        for (bucket, bound) in zip(asks.buckets, boundsSeconds) {
            reached += Double(bucket)
            if reached >= share * Double(asks.count) { return "≤ " + milliseconds(bound) }
        }
        return "> " + milliseconds(boundsSeconds.last ?? 0)
    }

    /// Returns seconds in milliseconds, with two digits behind the point.
    private func milliseconds(_ seconds: Double) -> String {
        let hundredths = Int((min(max(seconds, 0), 1e9) * 100_000).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) ms"
    }
}
