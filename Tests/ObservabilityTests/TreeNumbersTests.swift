import ConcurrencySupport
import CoreMetrics
import Fixtures
import MetricsTestKit
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators
@testable import CoordinatorsObservability

@Suite("The numbers of a tree without a daemon", .timeLimit(minutes: 2))
struct TreeNumbersTests {
    @Test("One call has the workers' numbers and the times of their asks, in the text format")
    func prometheus() async throws {
        try await RelayTree.with(depth: 2, options: RelayTree.options()) { runtime in
            // The times of asks count from the first call on.
            _ = await runtime.prometheusText()
            try await eventually("all processes count") {
                _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
                let samples = try Self.samples(await runtime.prometheusText())
                return (0...2).allSatisfy { samples[Self.asks(RelayTree.path($0))] ?? 0 > 0 }
            }
            let samples = try Self.samples(await runtime.prometheusText())
            for depth in 0...2 {
                let path = RelayTree.path(depth)
                #expect(samples[#"coordinator_up{path="\#(path)"}"#] == 1)
                #expect(samples[#"coordinator_process_resident_memory_bytes{path="\#(path)"}"#] ?? 0 > 1_000_000)
                #expect(samples[#"coordinator_process_open_fds{path="\#(path)"}"#] ?? 0 > 2)
                let bucket = Self.asks(path).replacing("_count{", with: "_bucket{").replacing("}", with: #",le="+Inf"}"#)
                #expect(samples[bucket] == samples[Self.asks(path)])
            }
            #expect(samples[#"coordinator_nodes{state="active"}"#] == 3)
            try await runtime.kill("/next/next")
            try await eventually("the restart is counted") {
                try Self.samples(await runtime.prometheusText())[#"coordinator_restarts_total{path="/next/next"}"#] == 1
            }
        }
    }

    @Test("swift-metrics of the root's process has the workers' numbers, and nothing of those that are gone")
    func backend() async throws {
        let metrics = TestMetrics()
        var options = RelayTree.options()
        var export = TelemetryExport(service: "relay")
        export.backend = .init(factory: metrics, interval: .milliseconds(100))
        options.export(export)
        try await RelayTree.with(depth: 1, options: options) { runtime in
            for _ in 0..<5 { _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30))) }
            let labels = [("path", "/next"), ("message", "Relay.Processes"), ("outcome", "success")]
            try await eventually("the worker's asks are counted, once each") {
                (try? metrics.expectCounter("coordinator_ask_duration_seconds_count", labels).totalValue) == 5
            }
            let all = try metrics.expectCounter("coordinator_ask_duration_seconds_bucket", labels + [("le", "+Inf")])
            #expect(all.totalValue == 5)
            try await eventually("its memory is known") {
                try metrics.expectGauge("coordinator_process_resident_memory_bytes", [("path", "/next")]).lastValue ?? 0 > 1_000_000
            }
            try await runtime.stop("/next")
            try await eventually("its mailbox is forgotten with it") {
                (try? metrics.expectGauge("coordinator_mailbox_waiting", [("path", "/next")])) == nil
            }
        }
    }

    @Test("Every number has a bounded number of samples, whatever the tree", arguments: TreeFamily.all.indices)
    func bounds(_ index: Int) throws {
        let family = TreeFamily.all[index]
        var root = Self.node(.root, pid: ProcessIdentity.current)
        root.children = (0..<2_000).map { Self.node(CoordinatorPath.root.appending("\($0)"), pid: ProcessIdentity.current) }
        let numbers = TreeNumbers(root, asks: nil, deadLetters: 1)
        let samples = family.samples(numbers)
        #expect((1...500).contains(samples.count), "\(family.metric.name): \(samples.count)")
        #expect(numbers.leftOut == 1_501)
        #expect(Set(samples.map { "\($0.labels)" }).count == samples.count)
    }

    @Test("What the console says of a tree is there without a daemon too, as are handlers that are stuck and what was given up")
    func names() throws {
        let article = try #require(Files.text(of: "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc/Console.md"))
        let rows = article.split(separator: "\n").filter { $0.hasPrefix("| `coordinator_") }.compactMap { $0.split(separator: "|").first }
        let names = rows.flatMap { $0.matches(of: /`(coordinator_[a-z0-9_]+)`/).map { String($0.1) } }
        // The others are the daemon's, and not the tree's.
        let others = ["coordinator_console_", "coordinator_cluster_", "coordinator_file_system_"]
        let shared = Set(names.filter { name in !others.contains { name.hasPrefix($0) } })
        let own = Set(TreeFamily.all.map(\.metric.name) + [MetricFamily.asks.name])
        #expect(shared.count > 10 && shared == own.subtracting(["coordinator_paths_left_out"]))
        var node = Self.node(.root, pid: ProcessIdentity.current)
        node.state = .failed
        node.mailbox?.stuck = 3
        let samples = try Self.samples(PrometheusText(TreeNumbers(node, asks: nil, deadLetters: 0)).text)
        #expect(samples[#"coordinator_mailbox_stuck{path="/"}"#] == 3 && samples[#"coordinator_failed{path="/"}"#] == 1)
    }

    @Test("Restarts that begin anew in the export have another start time, and others keep theirs, also when the path was away")
    func restartsBeginAnew() throws {
        let export = RestartExport()
        #expect(try export.starts(["/a": 2, "/b": 1], at: 10) == ["/": "1", "/a": "1", "/b": "1"])
        #expect(try export.starts(["/a": 3, "/b": 0], at: 20) == ["/": "1", "/a": "1", "/b": "20"])
        #expect(try export.starts(["/b": 0, "/c": 0], at: 30) == ["/": "1", "/b": "20", "/c": "1"])
        #expect(try export.starts(["/a": 0, "/b": 4], at: 40) == ["/": "1", "/a": "40", "/b": "20"])
        #expect(try export.starts(["/a": 1, "/b": 3], at: 50) == ["/": "1", "/a": "40", "/b": "50"])
    }

    @Test("Of the paths that are gone the export keeps some, and one that was dropped has another start time")
    func restartsOfPathsThatAreGone() throws {
        let export = RestartExport()
        _ = try export.starts(["/a": 5], at: 10)
        for round in 0..<3 {
            let others = (0..<400).map { ("/\(round)-\($0)", 0) }
            _ = try export.starts(Dictionary(uniqueKeysWithValues: others), at: 20 + Int64(round))
        }
        #expect(try export.starts(["/a": 5], at: 30) == ["/": "1", "/a": "30"])
        #expect(try export.starts(["/a": 6], at: 40) == ["/": "1", "/a": "30"])
    }

    /// Exports of one tree after another, which was started at 1.
    private final class RestartExport {
        private var beginnings = RestartBeginnings()

        /// Exports the restarts of the root's children, and returns the start times by path.
        func starts(_ restarts: [String: Int], at now: Int64) throws -> [String: String] {
            var root = CoordinatorSnapshot(path: .root, type: "T", state: .active, host: .inProcess, incarnation: 1)
            for (path, count) in restarts {
                let path = try #require(CoordinatorPath(path))
                root.children.append(
                    CoordinatorSnapshot(path: path, type: "T", state: .active, host: .worker, incarnation: 1, restarts: count)
                )
            }
            var numbers = OTLPMetrics.Numbers()
            numbers.snapshot = root
            let request = OTLPMetrics.request(numbers, OTLPResource(service: "s"), processID: 1, since: 1, at: now, &beginnings)
            let metrics = request["resourceMetrics"]?[0]?["scopeMetrics"]?[0]?["metrics"]?.arrayValue ?? []
            let metric = try #require(metrics.first { $0["name"] == "coordinator.restarts" })
            var starts: [String: String] = [:]
            for point in metric["sum"]?["dataPoints"]?.arrayValue ?? [] {
                let path = try #require(point["attributes"]?[0]?["value"]?["stringValue"]?.stringValue)
                #expect(point["timeUnixNano"]?.stringValue == "\(now)")
                starts[path] = point["startTimeUnixNano"]?.stringValue
            }
            return starts
        }
    }

    private static func asks(_ path: CoordinatorPath) -> String {
        #"coordinator_ask_duration_seconds_count{path="\#(path)",message="Relay.Processes",outcome="success"}"#
    }

    private static func node(_ path: CoordinatorPath, pid: ProcessIdentity) -> CoordinatorSnapshot {
        CoordinatorSnapshot(
            path: path,
            type: "T",
            state: .active,
            host: .worker,
            processID: pid.processID,
            processStartTime: pid.startTime,
            incarnation: 1,
            uptime: .seconds(1),
            mailbox: .init(waiting: 1, running: 1, oldestWaiting: .seconds(1), handled: 1),
            flows: .init(open: 1, parked: 1, due: 1, oldestDue: .seconds(1), outboxAge: .seconds(1), commitP99: .milliseconds(1))
        )
    }

    /// The values by name and labels; throws for a line that is none.
    private static func samples(_ text: String) throws -> [String: Double] {
        var samples: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let end = try #require(line.lastIndex(of: " "))
            let text = String(line[line.index(after: end)...])
            let value: Double? = text == "+Inf" ? .infinity : Double(text)
            let number: Double = try #require(value, "\(line)")
            samples[String(line[..<end])] = number
        }
        return samples
    }
}
