import ConcurrencySupport
import Control
import WireProtocol

/// What `bench --json` prints.
struct BenchResult: Codable {
    /// What a load came to.
    struct Load: Codable {
        /// The load's name.
        var load: String
        /// The part of the greatest rate; nil for a rate that the user has named.
        var percentOfMaximum: Int?
        /// The asks that were due each second; nil: as many as there could be.
        var targetPerSecond: Double?
        /// The asks that were answered each second.
        var answeredPerSecond: Double
        /// The time that the load took.
        var elapsedMilliseconds: Int64
        /// The asks that were due.
        var due: Int
        /// The asks that were answered.
        var answered: Int
        /// The asks that had no answer yet at the end, or weren't even sent.
        var unanswered: Int
        /// The kinds of failures, the most frequent first.
        var errors: [Failure]
        /// The times from when the asks were due until they were answered; nil for a greatest rate, where no ask has a time at which it is due.
        var latencyMicroseconds: LatencyPercentiles?
        /// The times that the daemon waited for the replies; nil when there was none.
        var inTreeMicroseconds: LatencyPercentiles?

        private enum CodingKeys: String, CodingKey {
            case load, due, answered, unanswered, errors
            case percentOfMaximum = "percent_of_maximum"
            case targetPerSecond = "target_per_second"
            case answeredPerSecond = "answered_per_second"
            case elapsedMilliseconds = "elapsed_ms"
            case latencyMicroseconds = "latency_us"
            case inTreeMicroseconds = "in_tree_us"
        }
    }

    /// Failed asks of one kind.
    struct Failure: Codable {
        /// The kind of failure.
        var code: String
        /// The number of asks that failed so.
        var count: Int
        /// The message of the first of them.
        var example: String
    }

    /// The path in the tree.
    var path: String
    /// The message's name.
    var message: String
    /// The greatest number of open asks.
    var concurrency: Int
    /// The number of connections that the asks needed.
    var connections: Int
    /// The time of each load.
    var durationMilliseconds: Int64
    /// The time in which the rate rose.
    var rampMilliseconds: Int64
    /// Whether the user has ended the measurement.
    var isInterrupted: Bool
    /// The error that ended the measurement before its time.
    var error: ControlError?
    /// The greatest rate; nil when it wasn't looked for.
    var maximumPerSecond: Double?
    /// The loads, in the order in which they were measured.
    var loads: [Load]

    private enum CodingKeys: String, CodingKey {
        case path, message, concurrency, connections, loads, error
        case durationMilliseconds = "duration_ms"
        case rampMilliseconds = "ramp_ms"
        case isInterrupted = "interrupted"
        case maximumPerSecond = "maximum_per_second"
    }
}

extension BenchReport {
    /// The report for programs.
    var result: BenchResult {
        BenchResult(
            path: settings.path,
            message: settings.message,
            concurrency: settings.concurrency,
            connections: connections,
            durationMilliseconds: settings.duration.wholeMilliseconds,
            rampMilliseconds: settings.ramp.wholeMilliseconds,
            isInterrupted: isInterrupted,
            error: fatalError,
            maximumPerSecond: maximumRate,
            loads: loads.map(\.result)
        )
    }
}

extension BenchReport.Load {
    /// The latencies; nil for a greatest rate, where no ask has a time at which it is due.
    var latency: LatencyPercentiles? { target.targetRate == nil ? nil : LatencyPercentiles(figures.latency) }

    var inTree: LatencyPercentiles? { LatencyPercentiles(figures.timesInTree) }

    fileprivate var result: BenchResult.Load {
        BenchResult.Load(
            load: target.name,
            percentOfMaximum: target.percentOfMaximum,
            targetPerSecond: target.targetRate,
            answeredPerSecond: figures.rate,
            elapsedMilliseconds: figures.elapsed.wholeMilliseconds,
            due: figures.due,
            answered: figures.answered,
            unanswered: figures.unanswered,
            errors: figures.sortedFailures.map { .init(code: $0.key.name, count: $0.value.count, example: $0.value.example) },
            latencyMicroseconds: latency,
            inTreeMicroseconds: inTree
        )
    }
}

extension LoadFigures {
    /// The failures, the most frequent first.
    var sortedFailures: [(key: ControlError.Code, value: Failure)] {
        failures.sorted { ($1.value.count, $0.key.name) < ($0.value.count, $1.key.name) }
    }
}
