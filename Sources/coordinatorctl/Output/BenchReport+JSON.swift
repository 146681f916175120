import ConcurrencySupport
import Control
import WireProtocol

extension BenchReport: Encodable {
    private enum CodingKeys: String, CodingKey {
        case path, message, concurrency, connections, loads, error
        case durationMilliseconds = "duration_ms"
        case rampMilliseconds = "ramp_ms"
        case isInterrupted = "interrupted"
        case maximumRate = "maximum_per_second"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(settings.path, forKey: .path)
        try container.encode(settings.message, forKey: .message)
        try container.encode(settings.concurrency, forKey: .concurrency)
        try container.encode(connections, forKey: .connections)
        try container.encode(settings.duration.wholeMilliseconds, forKey: .durationMilliseconds)
        try container.encode(settings.ramp.wholeMilliseconds, forKey: .rampMilliseconds)
        try container.encode(isInterrupted, forKey: .isInterrupted)
        try container.encodeIfPresent(fatalError, forKey: .error)
        try container.encodeIfPresent(maximumRate, forKey: .maximumRate)
        try container.encode(loads, forKey: .loads)
    }
}

extension BenchReport.Load: Encodable {
    private enum CodingKeys: String, CodingKey {
        case load, due, answered, unanswered, errors
        case percentOfMaximum = "percent_of_maximum"
        case targetRate = "target_per_second"
        case rate = "answered_per_second"
        case elapsedMilliseconds = "elapsed_ms"
        case latency = "latency_us"
        case inTree = "in_tree_us"
    }

    private struct Failure: Encodable {
        var code: String
        var count: Int
        var example: String
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(target.name, forKey: .load)
        try container.encodeIfPresent(target.percentOfMaximum, forKey: .percentOfMaximum)
        try container.encodeIfPresent(target.targetRate, forKey: .targetRate)
        try container.encode(figures.rate, forKey: .rate)
        try container.encode(figures.elapsed.wholeMilliseconds, forKey: .elapsedMilliseconds)
        try container.encode(figures.due, forKey: .due)
        try container.encode(figures.answered, forKey: .answered)
        try container.encode(figures.unanswered, forKey: .unanswered)
        try container.encode(
            figures.sortedFailures.map { Failure(code: $0.key.name, count: $0.value.count, example: $0.value.example) },
            forKey: .errors
        )
        try container.encodeIfPresent(latency, forKey: .latency)
        try container.encodeIfPresent(inTree, forKey: .inTree)
    }
}

extension BenchReport.Load {
    /// The latencies; nil for a greatest rate, where no ask has a time at which it is due.
    var latency: LatencyPercentiles? { target.targetRate == nil ? nil : LatencyPercentiles(figures.latency) }

    var inTree: LatencyPercentiles? { LatencyPercentiles(figures.timesInTree) }
}

extension LoadFigures {
    /// The failures, the most frequent first.
    var sortedFailures: [(key: ControlError.Code, value: Failure)] {
        failures.sorted { ($1.value.count, $0.key.name) < ($0.value.count, $1.key.name) }
    }
}
