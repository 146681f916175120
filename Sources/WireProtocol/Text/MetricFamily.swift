/// A family of metrics: what is told of its samples to the program that reads them.
package struct MetricFamily: Sendable {
    package enum Kind: String, Sendable { case gauge, counter, histogram }

    package let name: String
    package let kind: Kind
    package let help: String

    package init(_ name: String, _ kind: Kind, _ help: String) { (self.name, self.kind, self.help) = (name, kind, help) }
}

/// The families of a tree's metrics, which an embedded runtime and the console have alike.
extension MetricFamily {
    package static let nodes = MetricFamily("coordinator_nodes", .gauge, "Coordinators and programs in each state.")
    package static let deadLetters = MetricFamily(
        "coordinator_dead_letters_total",
        .counter,
        "Messages and events that were dropped in the tree."
    )
    package static let up = MetricFamily("coordinator_up", .gauge, "Whether a coordinator or program is active or paused.")
    package static let failed = MetricFamily("coordinator_failed", .gauge, "Whether the supervisor has given up.")
    package static let failing = MetricFamily("coordinator_failing", .gauge, "Whether it has failed three times in a row or more.")
    package static let unresponsive = MetricFamily("coordinator_unresponsive", .gauge, "Whether the worker doesn't answer.")
    package static let unhealthy = MetricFamily("coordinator_unhealthy", .gauge, "Whether the program's health check fails.")
    package static let restarts = MetricFamily("coordinator_restarts_total", .counter, "Restarts by the supervisor.")
    package static let forcedKills = MetricFamily(
        "coordinator_forced_kills_total",
        .counter,
        "Lives that were killed because they didn't stop within their time."
    )
    package static let incarnation = MetricFamily("coordinator_incarnation", .gauge, "The number of the present life.")
    package static let uptime = MetricFamily("coordinator_uptime_seconds", .gauge, "The time since the node became active.")
    package static let handled = MetricFamily(
        "coordinator_messages_handled_total",
        .counter,
        "Messages that the present life has handled."
    )
    package static let waiting = MetricFamily("coordinator_mailbox_waiting", .gauge, "Messages that wait.")
    package static let running = MetricFamily("coordinator_mailbox_running", .gauge, "Messages whose handlers run.")
    package static let stuck = MetricFamily("coordinator_mailbox_stuck", .gauge, "Handlers that run on past their cancellation.")
    package static let oldest = MetricFamily(
        "coordinator_mailbox_oldest_seconds",
        .gauge,
        "The time for which the oldest waiting message has waited."
    )
    package static let flows = MetricFamily("coordinator_flows", .gauge, "Durable flows of the coordinator's store that aren't over.")
    package static let flowsDue = MetricFamily("coordinator_flows_due", .gauge, "Durable flows that have something to do now.")
    package static let oldestFlowDue = MetricFamily(
        "coordinator_flow_oldest_due_seconds",
        .gauge,
        "The time for which the first of the flows that have something to do has had it."
    )
    package static let flowOutbox = MetricFamily(
        "coordinator_flow_outbox_age_seconds",
        .gauge,
        "The time for which the first of the messages of flows that haven't come to their ends is under way, or should be."
    )
    package static let flowCommits = MetricFamily(
        "coordinator_flow_commit_p99_seconds",
        .gauge,
        "The time that one of a hundred of the latest commits of flows exceeds."
    )
    package static let processorTime = MetricFamily(
        "coordinator_process_cpu_seconds_total",
        .counter,
        "The processor time that the process at the path has used."
    )
    package static let residentMemory = MetricFamily(
        "coordinator_process_resident_memory_bytes",
        .gauge,
        "The memory that the process at the path has in use."
    )
    package static let descriptors = MetricFamily(
        "coordinator_process_open_fds",
        .gauge,
        "The descriptors that the process at the path has open."
    )
    package static let asks = MetricFamily(
        "coordinator_ask_duration_seconds",
        .histogram,
        "The time from the arrival of an ask in the coordinator's process to its answer."
    )
}

extension MetricFamily {
    /// Returns the samples of a histogram of seconds: the values up to each bound, their sum, and their number.
    ///
    /// - Parameters:
    ///   - bounds: The upper bounds of the buckets but the last one, which has none.
    ///   - counts: The number of values in each bucket; there are no samples unless they are as many as the buckets.
    package func samples(
        bounds: [Double],
        counts: [UInt64],
        sum: Double,
        _ labels: [(String, String)]
    ) -> [(name: String, value: Double, labels: [(String, String)])] {
        guard counts.count == bounds.count + 1 else { return [] }
        var total: UInt64 = 0
        var samples = zip(bounds + [.infinity], counts).map { bound, count in
            total = total.addingReportingOverflow(count).overflow ? .max : total + count
            return (name: "\(name)_bucket", value: Double(total), labels: labels + [("le", PrometheusText.number(bound))])
        }
        samples.append(("\(name)_sum", sum, labels))
        samples.append(("\(name)_count", Double(total), labels))
        return samples
    }
}

/// Metrics in the text format of Prometheus.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
package struct PrometheusText: Sendable {
    /// The media type of the format.
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""

    package init() {}

    /// Begins a family.
    package mutating func begin(_ family: MetricFamily) {
        let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        text += "# HELP \(family.name) \(help)\n# TYPE \(family.name) \(family.kind.rawValue)\n"
    }

    /// Adds a sample.
    package mutating func add(_ family: MetricFamily, _ value: Double, _ labels: [(String, String)] = []) {
        add(family.name, value, labels)
    }

    private mutating func add(_ name: String, _ value: Double, _ labels: [(String, String)]) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",") + "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Adds the samples of a histogram of seconds; see ``MetricFamily/samples(bounds:counts:sum:_:)``.
    package mutating func addHistogram(
        _ family: MetricFamily,
        bounds: [Double],
        counts: [UInt64],
        sum: Double,
        _ labels: [(String, String)]
    ) {
        for sample in family.samples(bounds: bounds, counts: counts, sum: sum, labels) { add(sample.name, sample.value, sample.labels) }
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    package static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        if value == -.infinity { return "-Inf" }
        if value.isNaN { return "NaN" }
        return value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}
