import ConcurrencySupport
import Coordinators
import WireProtocol

/// The numbers of a tree as OTLP/JSON: all are cumulative since the tree was started, but for restarts: see ``RestartBeginnings``.
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
    ///   - beginnings: The times since which restarts count, from one request to the next.
    static func request(
        _ numbers: Numbers,
        _ resource: OTLPResource,
        processID: Int32,
        since start: Int64,
        at now: Int64,
        _ beginnings: inout RestartBeginnings
    ) -> JSONValue {
        let times = times(since: start, at: now)
        var metrics = [asks(numbers.asks, times)]
        metrics.append(sum("coordinator.dead_letters", "Messages and events that were dropped.", [point(numbers.deadLetters, [], times)]))
        metrics.append(
            sum("coordinator.spans.lost", "Spans that were left out or couldn't be exported.", [point(numbers.lostSpans, [], times)])
        )
        if let snapshot = numbers.snapshot {
            let nodes = snapshot.withDescendants
            var restarts: [JSONValue] = []
            for node in nodes.prefix(AskDurations.limit) {
                let (path, count) = (node.path.description, UInt64(max(0, node.restarts)))
                let times = Self.times(since: beginnings.beginning(of: path, count, since: start, at: now), at: now)
                restarts.append(point(count, [.attribute("coordinator.path", .text(path))], times))
            }
            beginnings.dropSurplus(at: now)
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

    private static func times(since start: Int64, at now: Int64) -> [String: JSONValue] {
        ["startTimeUnixNano": .string("\(start)"), "timeUnixNano": .string("\(now)")]
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

/// The times since which the restarts of each node count.
///
/// A node's number begins anew with its parent's life, and when the node is removed and added again. A number that is less than before is
/// OTLP's reset: from then on its point has that time as its start.
struct RestartBeginnings: Sendable {
    /// The number of paths that are kept, with those that the tree doesn't have at the moment.
    static let capacity = 1_000

    private struct Beginning {
        var latest: UInt64
        var start: Int64
        var seen: Int64
    }

    private var beginnings: [String: Beginning] = [:]
    /// Whether paths were dropped, so that an unknown one may have had a number before.
    private var hasDropped = false

    /// Takes note of the present number of a path, and returns the time since which it counts.
    mutating func beginning(of path: String, _ count: UInt64, since start: Int64, at now: Int64) -> Int64 {
        var beginning = beginnings[path] ?? Beginning(latest: count, start: hasDropped ? now : start, seen: now)
        if count < beginning.latest { beginning.start = now }
        (beginning.latest, beginning.seen) = (count, now)
        beginnings[path] = beginning
        return beginning.start
    }

    /// Drops the paths that the latest numbers don't have, if there are too many.
    mutating func dropSurplus(at now: Int64) {
        guard beginnings.count > Self.capacity else { return }
        beginnings = beginnings.filter { $0.value.seen == now }
        hasDropped = true
    }
}

extension CoordinatorSnapshot {
    /// The node and all below it.
    var withDescendants: [CoordinatorSnapshot] { [self] + children.flatMap(\.withDescendants) }
}
