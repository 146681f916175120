import ConcurrencySupport
import Coordinators
import Fixtures
import Glibc
import Logging
import TestSupport
import Testing
import WireProtocol

@testable import CoordinatorsObservability

@Suite("The export in OTLP/JSON", .timeLimit(minutes: 2))
struct ExportTests {
    private static let readable: ConditionTrait =
        .enabled(if: OpenTelemetry.isAvailable, "COORDINATORS_TEST_PYTHON names a Python that has the package opentelemetry-proto")

    @Test("An ask through four processes is one trace with a span per hop, which OpenTelemetry's definitions parse", readable)
    func fourProcesses() async throws {
        try await withExport(depth: 3) { runtime, _ in
            let processes = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
            #expect(Set(processes).count == 4)
            return processes
        } afterwards: { processes, directory in
            let spans = try await OpenTelemetry.spans(in: "\(directory)/traces").filter { $0.name.hasSuffix("Relay.Processes") }
            #expect(spans.count == 8 && Set(spans.map(\.trace)).count == 1)
            #expect(spans.allSatisfy { $0.service == "relay" && !$0.failed && $0.nanoseconds > 0 })
            // From the first span down: each is below the one before, and each process has one in which it handles.
            var (parent, way): (String?, [OpenTelemetry.Span]) = (nil, [])
            while let span = spans.first(where: { $0.parent == parent }), way.count < 8 {
                way.append(span)
                parent = span.span
            }
            #expect(way.map(\.kind) == ["client", "server", "client", "server", "client", "server", "client", "server"])
            let handled = way.filter { $0.kind == "server" }
            #expect(handled.map(\.process) == processes)
            #expect(handled.map(\.path) == ["/", "/next", "/next/next", "/next/next/next"])
            // A span includes those below it.
            #expect(zip(way, way.dropFirst()).allSatisfy { $0.nanoseconds >= $1.nanoseconds })
        }
    }

    @Test("A trace from outside goes on, sampled or not as its beginning has decided", readable)
    func givenTrace() async throws {
        let digits = "4bf92f3577b34da6a3ce929d0e0e4736"
        try await withExport(depth: 1, sample: 0) { runtime, _ in
            let ask = { (flags: String) in
                let given = TraceContext(traceparent: "00-\(digits)-00f067aa0ba902b7-\(flags)")
                return try await TraceContext.$current.withValue(given) {
                    try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
                }
            }
            _ = try await ask("01")
            _ = try await ask("00")
            _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
        } afterwards: { _, directory in
            let spans = try await OpenTelemetry.spans(in: "\(directory)/traces")
            #expect(spans.count == 4 && spans.allSatisfy { $0.trace == digits })
            #expect(spans.filter { $0.parent == "00f067aa0ba902b7" }.map(\.path) == ["/"])
        }
    }

    @Test("One-way messages and failures are told as such", readable)
    func kinds() async throws {
        try await withExport(depth: 1) { runtime, _ in
            await #expect(throws: Fixture.Refusal.self) {
                try await runtime.ask(Fixture.Refuse(asCodable: true), at: .root, timeout: .patient(.seconds(30)))
            }
            _ = try await runtime.send(Relay.Pass(), at: .root)
            // Behind the message.
            _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
        } afterwards: { _, directory in
            let spans = try await OpenTelemetry.spans(in: "\(directory)/traces")
            let failed = spans.filter { $0.name.hasSuffix("Fixture.Refuse") }
            #expect(failed.count == 2 && failed.allSatisfy(\.failed))
            let passed = spans.filter { $0.name.hasSuffix("Relay.Pass") }
            #expect(Set(passed.map(\.kind)) == ["producer", "consumer"] && !passed.contains(where: \.failed))
        }
    }

    @Test("The times of asks of all processes are in the root's histograms, and stay when a worker is gone", readable)
    func numbers() async throws {
        try await withExport(depth: 2) { runtime, directory in
            for _ in 0..<20 { _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30))) }
            _ = try await runtime.ask(Relay.Wait(milliseconds: 300), at: RelayTree.path(2), timeout: .patient(.seconds(30)))
            try await eventually("the root has the asks of the lowest worker") {
                guard Files.text(of: "\(directory)/metrics") != nil else { return false }
                let points = try await OpenTelemetry.points(in: "\(directory)/metrics")
                return points.contains { $0.message == "Relay.Wait" && $0.path == "/next/next" }
            }
            try await runtime.kill("/next/next")
            try await eventually("the worker is back") {
                (try? await runtime.ask(Relay.Processes(), at: .root, timeout: .seconds(50)))?.count == 3
            }
            try await eventually("the restart is counted") {
                let points = try await OpenTelemetry.points(in: "\(directory)/metrics")
                return points.last { $0.metric == "coordinator.restarts" && $0.path == "/next/next" }?.count == 1
            }
        } afterwards: { _, directory in
            let points = try await OpenTelemetry.points(in: "\(directory)/metrics")
            let asks = points.filter { $0.metric == "rpc.server.call.duration" }
            #expect(asks.allSatisfy { $0.kind == "histogram" && $0.unit == "s" && $0.buckets.count == $0.bounds + 1 })
            #expect(asks.allSatisfy { $0.buckets.reduce(0, +) == $0.count })
            for depth in 0...2 {
                let last = asks.last { $0.path == RelayTree.path(depth).description && $0.message == "Relay.Processes" }
                let count = try #require(last).count
                #expect(count >= 20)
            }
            let waited = try #require(asks.last { $0.message == "Relay.Wait" })
            let seconds = try #require(waited.sum)
            #expect(waited.count == 1 && seconds >= 0.3 && seconds < 30)
            let restarts = points.last { $0.metric == "coordinator.restarts" && $0.path == "/next/next" }
            #expect(restarts?.count == 1)
        }
    }

    @Test("Requests are posted as JSON, and a receiver that refuses them or is gone loses them, counted")
    func post() async throws {
        let receiver = try SmallServer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        var options = RelayTree.options()
        var export = TelemetryExport(service: "relay")
        export.traces = .init(to: try .endpoint("http://127.0.0.1:\(receiver.port)"))
        let temporary = try TemporaryDirectory()
        export.metrics = .init(to: .file("\(temporary.path)/metrics"), interval: .milliseconds(100))
        options.logger.logLevel = .critical
        options.export(export)
        try await RelayTree.with(depth: 1, options: options) { runtime in
            _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
            try await eventually("the receiver has a request") { receiver.request != nil }
            let request = try #require(receiver.request)
            #expect(request.hasPrefix("POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:\(receiver.port)\r\nContent-Type: application/json\r\n"))
            #expect(request.contains("\"resourceSpans\""))
            receiver.answer("HTTP/1.1 503 Service Unavailable\r\n\r\n")
            _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
            try await eventually("the loss is counted") {
                let numbers = Files.text(of: "\(temporary.path)/metrics")?.split(separator: "\n").last
                return numbers?.contains("\"coordinator.spans.lost\"") == true && numbers?.contains(Self.lost(0)) == false
            }
            receiver.close()
            _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
        }
    }

    /// The beginning of the metric in a request, whose members are in alphabetical order.
    private static func lost(_ count: Int) -> String {
        "\"name\":\"coordinator.spans.lost\",\"sum\":{\"aggregationTemporality\":2,\"dataPoints\":[{\"asInt\":\"\(count)\""
    }

    @Test("A queue keeps what it has room for, in order, and counts what is lost")
    func overflow() async throws {
        let temporary = try TemporaryDirectory()
        let file = temporary.file("numbers")
        let queue = ExportQueue<Int64>(
            to: .file(file),
            defaultPath: "",
            capacity: 3,
            batch: 2,
            delay: .seconds(600),
            trouble: Trouble { _ in }
        ) { .array($0.map { .integer($0) }) }
        queue.append([1, 2], lost: 10)
        queue.append([3, 4, 5])
        #expect(queue.lost == 12)
        await queue.flush()
        #expect(Files.text(of: file) == "[1,2]\n[3]\n")
        // There is room again.
        queue.append([6])
        await queue.flush()
        #expect(queue.lost == 12 && Files.text(of: file) == "[1,2]\n[3]\n[6]\n")
    }

    @Test("A half line that a crash or a full disk has left in a file is ended before the next request, and a whole one isn't")
    func halfLine() throws {
        let temporary = try TemporaryDirectory()
        let file = temporary.file("traces")
        try Files.write("{\"half\":", to: file)
        for request in ["{\"a\":1}", "{\"b\":2}"] { try TelemetryDestination.file(file).send(Array(request.utf8), defaultPath: "") }
        #expect(Files.text(of: file) == "{\"half\":\n{\"a\":1}\n{\"b\":2}\n")
    }

    @Test("A receiver that is silent doesn't keep the tree from working, and its end from coming in a second")
    func silentReceiver() async throws {
        try await expectPromptly(within: .patient(.seconds(4))) {
            let receiver = try SmallServer(nil)
            var options = RelayTree.options()
            options.logger.logLevel = .critical
            var export = TelemetryExport(service: "relay")
            export.traces = .init(to: try .endpoint("http://127.0.0.1:\(receiver.port)/here"))
            options.export(export)
            let runtime = CoordinatorRuntime(RelayCoordinator.self, configuration: .init(), options: options)
            try await runtime.start()
            for _ in 0..<100 { _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30))) }
            let began = MachineClock.now
            await runtime.stop()
            return MachineClock.now - began
        }
    }

    @Test(
        "An endpoint that isn't one is refused, with what is expected",
        arguments: [
            "https://collector", "collector:4318", "http://", "http://:4318", "http://a b", "http://host:0", "http://host:66666",
            "http://user:secret@host", "http://[::1", "http://host/#part",
        ]
    )
    func invalidEndpoint(_ address: String) {
        let error = #expect(throws: TelemetryDestination.InvalidEndpoint.self) { try TelemetryDestination.endpoint(address) }
        #expect(error?.description.contains("expected http://HOST") == true)
    }

    @Test("Without an export a message has no trace of ours, here and in the workers")
    func nothing() async throws {
        try await RelayTree.with(depth: 1, options: RelayTree.options()) { runtime in
            _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
            // The worker's own instrument has fields of its own.
            #expect(try await runtime.ask(Relay.Trace(), at: RelayTree.path(1), timeout: .patient(.seconds(30))).hasPrefix("\nin-memory"))
            #expect(try await runtime.ask(Relay.Trace(), at: .root, timeout: .patient(.seconds(30))) == "")
        }
    }

    /// Runs a tree that exports into files of a directory, and then reads them.
    private func withExport<Result>(
        depth: Int,
        sample: Double = 1,
        _ body: (CoordinatorRuntime, _ directory: String) async throws -> Result,
        afterwards: (Result, _ directory: String) async throws -> Void
    ) async throws {
        let temporary = try TemporaryDirectory()
        var export = TelemetryExport(service: "relay")
        export.traces = .init(to: .file("\(temporary.path)/traces"), sample: sample)
        export.metrics = .init(to: .file("\(temporary.path)/metrics"), interval: .milliseconds(100))
        var options = RelayTree.options()
        options.export(export)
        var result: Result?
        try await RelayTree.with(depth: depth, options: options) { result = try await body($0, temporary.path) }
        try await afterwards(try #require(result), temporary.path)
    }
}
