import Control

/// What the asks of one load came to.
struct LoadFigures: Sendable {
    /// Failed asks of one kind.
    struct Failure: Sendable {
        var count = 0
        /// The message of the first of them.
        let example: String
    }

    /// The number of asks that were due.
    private(set) var due = 0
    /// The number of asks that were answered.
    private(set) var answered = 0
    /// The number of asks that had no answer yet when the load ended, or weren't even sent.
    private(set) var unanswered = 0
    private(set) var failures: [ControlError.Code: Failure] = [:]
    /// The times from when the asks were due until they were answered, in microseconds.
    ///
    /// It contains the asks that timed out or have no answer, with the time that they have waited: without them an overload would look fast.
    private(set) var latency = LatencyHistogram()
    /// The times that the daemon waited for the replies, in microseconds.
    private(set) var timesInTree = LatencyHistogram()
    /// The time that was measured.
    var elapsed = Duration.zero

    /// The number of asks that failed.
    var failed: Int { failures.values.reduce(0) { $0 + $1.count } }

    /// The kind of failure that most of the failed asks have.
    var commonFailure: ControlError.Code? {
        failures.max { ($0.value.count, $1.key.name) < ($1.value.count, $0.key.name) }?.key
    }

    /// The answered asks of each second.
    var rate: Double { elapsed > .zero ? Double(answered) / (elapsed / .seconds(1)) : 0 }

    mutating func countAnswer(after latency: Duration, inTree: Duration?) {
        due += 1
        answered += 1
        record(latency)
        if let inTree { timesInTree.record(Self.microseconds(inTree)) }
    }

    mutating func countFailure(_ error: ControlError, after latency: Duration) {
        due += 1
        failures[error.code, default: Failure(example: error.message)].count += 1
        if error.code == .timedOut { record(latency) }
    }

    mutating func countUnanswered(after latency: Duration) {
        due += 1
        unanswered += 1
        record(latency)
    }

    private mutating func record(_ latency: Duration) {
        self.latency.record(Self.microseconds(latency))
    }

    private static func microseconds(_ duration: Duration) -> UInt64 {
        UInt64(max(0, duration / .microseconds(1)))
    }
}
