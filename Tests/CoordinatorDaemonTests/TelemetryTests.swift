import Control
import Glibc
import TestSupport
import Testing
import WireProtocol

@Suite(
    "The telemetry that the file of the daemon asks for",
    .enabled(
        if: getenv("COORDINATORS_TEST_PYTHON") != nil,
        "COORDINATORS_TEST_PYTHON names a Python that has the package opentelemetry-proto"
    ),
    .timeLimit(minutes: 2)
)
struct TelemetryTests {
    @Test("An operator's ask through two workers is one trace in a file that OpenTelemetry's definitions parse, and is timed in another")
    func files() async throws {
        let temporary = try TemporaryDirectory()
        let tree = """
            observability:
              traces: { file: \(temporary.file("traces")) }
              metrics: { file: \(temporary.file("metrics")), interval: 100ms }
            children:
              - name: tree
                worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a], placement: worker } }
            """
        var processes: [Int32?] = []
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.allActive()
            let asked = try await daemon.control("ask", "/tree", "Fixture.AskChild", #"{"key": "a", "text": "words"}"#)
            #expect(asked.output == "\"words\"\n", "\(asked.errors)")
            processes = [try await daemon.node("/tree").pid, try await daemon.node("/tree/a").pid]
        }
        // The end of the daemon has written the last ones.
        let spans = try await Self.read("traces", temporary.file("traces")).filter { $0["name"]?.stringValue?.contains("Fixture.") == true }
        #expect(spans.allSatisfy { $0["service"] == "coordinatord" && $0["failed"] == false })
        // The first has none above it, and each other one is below the one before.
        var (parent, way): (JSONValue, [JSONValue]) = (.null, [])
        while let span = spans.first(where: { $0["parent"] == parent }), way.count < spans.count {
            way.append(span)
            parent = span["span"] ?? .null
        }
        #expect(way.count == spans.count && Set(spans.compactMap { $0["trace"]?.stringValue }).count == 1, "\(spans)")
        let handled = way.filter { $0["kind"] == "server" }
        #expect(handled.map { $0["path"] } == ["/tree", "/tree/a", "/tree"])
        #expect(handled.map { $0["name"] } == Self.handledNames)
        #expect(handled.prefix(2).map { $0["process"]?.integerValue } == processes.map { $0.map(Int64.init) })

        let points = try await Self.read("metrics", temporary.file("metrics"))
        let last = points.last { $0["path"] == "/tree/a" && $0["message"] == "Fixture.Do" && $0["kind"] == "histogram" }
        #expect(last?["count"] == 1)
    }

    private static let handledNames: [JSONValue?] = [
        "RootCoordinator/Fixture.AskChild", "MiddleCoordinator/Fixture.Do", "RootCoordinator/Fixture.Echo",
    ]

    private static func read(_ kind: String, _ file: String) async throws -> [JSONValue] {
        let python = BuiltProgram(path: try #require(getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) }))
        let ended = try await python.run(["\(Files.packageRoot)/Tests/ObservabilityTests/otlp.py", kind, file])
        try #require(ended.exitCode == 0, "\(ended.errors)")
        return try #require(try ControlJSON.parse(Array(ended.output.utf8)).arrayValue)
    }
}
