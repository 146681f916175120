import ConcurrencySupport
import Coordinators
import WireProtocol

/// The numbers of a tree as OTLP/JSON: all are cumulative since the tree was started.
enum OTLPMetrics {
    /// The numbers at a moment.
    struct Numbers {
        var asks = AskDurations()
        var deadLetters: UInt64 = 0
        /// The tree; nil while it can't be described.
        var snapshot: CoordinatorSnapshot?
        /// The number of spans that were lost.
        var lostSpans: UInt64 = 0
    }

    /// Returns the request that exports numbers.
    ///
    /// - Parameters:
    ///   - start: The time since which the numbers count, in nanoseconds since 1970.
    ///   - now: The time of the numbers.
    static func request(_ numbers: Numbers, _ resource: OTLPResource, processID: Int32, since start: Int64, at now: Int64) -> JSONValue {
        let times: [String: JSONValue] = ["startTimeUnixNano": .string("\(start)"), "timeUnixNano": .string("\(now)")]
        var metrics = [asks(numbers.asks, times)]
        metrics.append(sum("coordinator.dead_letters", "Messages and events that were dropped.", [point(numbers.deadLetters, [], times)]))
        metrics.append(
            sum("coordinator.spans.lost", "Spans that were left out or couldn't be exported.", [point(numbers.lostSpans, [], times)])
        )
        if let snapshot = numbers.snapshot {
            let nodes = snapshot.withDescendants
            let restarts = nodes.prefix(AskDurations.limit).map { node in
                point(UInt64(max(0, node.restarts)), [.attribute("coordinator.path", .text(node.path.description))], times)
            }
            metrics.append(sum("coordinator.restarts", "Restarts by the supervisor.", restarts))
            var states: [String: UInt64] = [:]
            for node in nodes { states[node.state.rawValue, default: 0] += 1 }
            let points = states.sorted { $0.key < $1.key }.map { point($0.value, [.attribute("state", .text($0.key))], times) }
            metrics.append(
                [
                    "name": "coordinator.nodes", "description": "Coordinators and programs by state.", "unit": "1",
                    "gauge": ["dataPoints": .array(points)],
                ]
            )
        }
        let scope: JSONValue = ["scope": OTLPResource.scope, "metrics": .array(metrics)]
        return ["resourceMetrics": [["resource": resource.value(of: processID), "scopeMetrics": [scope]]]]
    }

    /// The temporality of numbers that count since a beginning.
    private static let cumulative: JSONValue = 2

    private static func asks(_ asks: AskDurations, _ times: [String: JSONValue]) -> JSONValue {
        let bounds = Histogram.bounds.map { JSONValue.number(Double($0.nanosecondsClamped) / 1e9) }
        let points = asks.histograms.sorted { ($0.key.path, $0.key.message) < ($1.key.path, $1.key.message) }
            .map { key, histogram -> JSONValue in
                var members = times
                members["attributes"] = [
                    .attribute("coordinator.path", .text(key.path)), .attribute("rpc.method", .text(key.message)),
                    .attribute("coordinator.failed", ["boolValue": .bool(key.hasFailed)]),
                ]
                members["count"] = .string("\(histogram.count)")
                members["sum"] = .number(Double(histogram.sum) / 1e9)
                members["bucketCounts"] = .array(histogram.counts.map { .string("\($0)") })
                members["explicitBounds"] = .array(bounds)
                return .object(members)
            }
        return [
            "name": "rpc.server.call.duration", "description": "The time that asks took, with their waiting.", "unit": "s",
            "histogram": ["aggregationTemporality": cumulative, "dataPoints": .array(points)],
        ]
    }

    private static func sum(_ name: String, _ description: String, _ points: [JSONValue]) -> JSONValue {
        [
            "name": .string(name), "description": .string(description), "unit": "1",
            "sum": ["aggregationTemporality": cumulative, "isMonotonic": true, "dataPoints": .array(points)],
        ]
    }

    private static func point(_ number: UInt64, _ attributes: [JSONValue], _ times: [String: JSONValue]) -> JSONValue {
        var members = times
        members["attributes"] = .array(attributes)
        members["asInt"] = .string("\(number)")
        return .object(members)
    }
}

extension CoordinatorSnapshot {
    /// The node and all below it.
    var withDescendants: [CoordinatorSnapshot] { [self] + children.flatMap(\.withDescendants) }
}
