import ConcurrencySupport
import Control
import WireProtocol

/// What a measurement of a tree came to, as far as it got.
struct BenchReport: Sendable {
    /// What a load was to be.
    struct Target: Sendable {
        var name: String
        /// The part of the greatest rate; nil for a rate that the user has named.
        var percentOfMaximum: Int?
        /// The asks a second; nil: as many as there can be.
        var targetRate: Double?

        /// The name of the load that finds the greatest rate.
        static let maximum = "maximum"
    }

    /// A load and what it came to.
    struct Load: Sendable {
        var target: Target
        var figures: LoadFigures
    }

    let settings: Bench.Settings
    var loads: [Load] = []
    /// The number of connections that the asks needed.
    var connections = 0
    var isInterrupted = false
    /// The error that ended the measurement before its time.
    var fatalError: ControlError?

    init(_ settings: Bench.Settings) { self.settings = settings }

    /// The greatest rate; nil when it wasn't looked for.
    var maximumRate: Double? { loads.first { $0.target.name == Target.maximum }?.figures.rate }

    /// Whether no other load makes sense.
    var hasEnded: Bool { isInterrupted || fatalError != nil }

    /// The number of asks that failed, and of those that had no answer in time although the user waited for the end.
    var failed: Int { loads.reduce(0) { $0 + $1.figures.failed + (hasEnded ? 0 : $1.figures.unanswered) } }

    /// The exit code: that of the most frequent failure when no ask was answered, and 1 when some weren't.
    var exitCode: Int32 {
        if let fatalError { return fatalError.code.exitCode }
        if failed == 0 { return 0 }
        let isAnswered = loads.contains { $0.figures.answered > 0 }
        let common = loads.last { $0.figures.commonFailure != nil }?.figures.commonFailure
        return isAnswered ? ControlError.Code.failed.exitCode : (common ?? .timedOut).exitCode
    }
}

/// The percentiles of durations in microseconds.
struct LatencyPercentiles: Codable, Hashable, Sendable {
    /// The time that half of the asks didn't exceed.
    var p50: UInt64
    /// The time that 90 % of the asks didn't exceed.
    var p90: UInt64
    /// The time that 99 % of the asks didn't exceed.
    var p99: UInt64
    /// The time that 99.9 % of the asks didn't exceed.
    var p999: UInt64
    /// The longest time.
    var maximum: UInt64

    /// Creates the percentiles of a histogram; returns nil when it's empty.
    init?(_ histogram: LatencyHistogram) {
        guard histogram.count > 0 else { return nil }
        p50 = histogram.value(atPercentile: 50)
        p90 = histogram.value(atPercentile: 90)
        p99 = histogram.value(atPercentile: 99)
        p999 = histogram.value(atPercentile: 99.9)
        maximum = histogram.maximum
    }

    private enum CodingKeys: String, CodingKey {
        case p50, p90, p99
        case p999 = "p99_9"
        case maximum = "max"
    }

    var values: [UInt64] { [p50, p90, p99, p999, maximum] }
}
