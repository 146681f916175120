import Coordinators
import CoordinatorsObservability
import CoreMetrics
import Fixtures
import Glibc
import InMemoryTracing
import Logging
import MetricsTestKit
import TestSupport
import Testing
import Tracing

@Suite("The adapters of swift-metrics and swift-distributed-tracing", .timeLimit(minutes: 2))
struct AdapterTests {
    @Test("An ask through four processes is one trace with two spans for each hop, each below the one before")
    func oneTrace() async throws {
        let tracer = InMemoryTracer(idGenerator: .random)
        try await RelayTree.with(depth: 3, instruments: [TracingInstrument(tracer)]) { runtime in
            let processes = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
            #expect(Set(processes).count == 4)
            var spans = tracer.finishedSpans.filter { $0.operationName.hasSuffix("Relay.Processes") }
                .map { Hop(trace: $0.traceID, span: $0.spanID, parent: $0.parentSpanID, kind: "\($0.kind)") }
            for depth in 1...3 {
                let seen = try await runtime.ask(Relay.Look(), at: RelayTree.path(depth), timeout: .patient(.seconds(30)))
                #expect(seen.processID == processes[depth])
                spans += seen.spans.filter { $0.name.hasSuffix("Relay.Processes") }
                    .map { Hop(trace: $0.trace, span: $0.span, parent: $0.parent, kind: $0.kind) }
            }
            #expect(spans.count == 8)
            #expect(Set(spans.map(\.trace)).count == 1)
            // From the first span down: each has the one before as its parent.
            var (parent, kinds): (String?, [String]) = (nil, [])
            while let span = spans.first(where: { $0.parent == parent }), kinds.count < 8 {
                kinds.append(span.kind)
                parent = span.span
            }
            #expect(kinds == ["client", "server", "client", "server", "client", "server", "client", "server"])
        }
    }

    @Test("A sender's own span is above the message's, and the handler's own are below it")
    func ownSpans() async throws {
        let tracer = InMemoryTracer(idGenerator: .random)
        try await RelayTree.with(depth: 0, instruments: [TracingInstrument(tracer)]) { runtime in
            _ = try await tracer.withSpan("own") { _ in
                try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
            }
            let spans = tracer.finishedSpans
            let own = try #require(spans.first { $0.operationName == "own" })
            let client = try #require(spans.first { $0.kind == .client })
            let server = try #require(spans.first { $0.kind == .server })
            #expect(own.parentSpanID == nil)
            #expect(client.parentSpanID == own.spanID)
            #expect(server.parentSpanID == client.spanID)
            #expect(server.operationName == "RelayCoordinator/Relay.Processes")
            #expect(server.attributes.get("rpc.method")?.toSpanAttribute() == "Relay.Processes")
            #expect(server.attributes.get("coordinator.path")?.toSpanAttribute() == "/")
        }
    }

    @Test("Messages begin in the order in which they were sent, with a span around each")
    func order() async throws {
        var options = CoordinatorRuntime.Options()
        options.instruments = [TracingInstrument(InMemoryTracer(idGenerator: .random))]
        options.logger.logLevel = .critical
        let runtime = CoordinatorRuntime(Notebook.self, options: options)
        try await runtime.start()
        for number in 0..<100 {
            if number.isMultiple(of: 2) {
                try await runtime.send(Notebook.Note(number: number))
            } else {
                try await runtime.send(Notebook.NoteAwaiting(number: number))
            }
        }
        #expect(try await runtime.ask(Notebook.Notes(), timeout: .patient(.seconds(30))) == Array(0..<100))
        await runtime.stop()
    }

    @Test("A W3C trace from outside goes on, and comes back out as a traceparent")
    func traceparent() async throws {
        let tracer = W3CTracer()
        try await RelayTree.with(depth: 0, instruments: [TracingInstrument(tracer)]) { runtime in
            let given = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\ntracestate: a=b")
            _ = try await TraceContext.$current.withValue(given) {
                try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
            }
            let extracted = tracer.inner.performedContextExtractions.compactMap { $0.carrier as? [String: String] }
            #expect(extracted.first == ["traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=b"])
        }
    }

    @Test("A failure is an error of the span, and of the timer's dimension")
    func failure() async throws {
        let (tracer, metrics) = (InMemoryTracer(idGenerator: .random), TestMetrics())
        let instruments: [any CoordinatorInstrument] = [TracingInstrument(tracer), MetricsInstrument(factory: metrics)]
        try await RelayTree.with(depth: 0, instruments: instruments) { runtime in
            await #expect(throws: Fixture.Refusal.self) {
                try await runtime.ask(Fixture.Refuse(asCodable: true), at: .root, timeout: .patient(.seconds(30)))
            }
            _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30)))
            #expect(tracer.finishedSpans.filter { $0.operationName.hasSuffix("Fixture.Refuse") }.map(\.errors.count) == [1, 1])
            #expect(tracer.finishedSpans.filter { $0.operationName.hasSuffix("Relay.Processes") }.allSatisfy { $0.errors.isEmpty })
            let dimensions = [("rpc.method", "Fixture.Refuse"), ("coordinator.type", "RelayCoordinator"), ("error.type", "Refusal")]
            #expect(try metrics.expectTimer("rpc.server.call.duration", dimensions).values.count == 1)
            #expect(try metrics.expectTimer("coordinator.mailbox.wait", Array(dimensions.prefix(2))).values.count == 1)
        }
    }

    @Test("Each process times its own messages")
    func metrics() async throws {
        let metrics = TestMetrics()
        try await RelayTree.with(depth: 1, instruments: [MetricsInstrument(factory: metrics)]) { runtime in
            for _ in 0..<5 { _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30))) }
            _ = try await runtime.send(Relay.Pass(), at: .root)
            let type = ("coordinator.type", "RelayCoordinator"), method = ("rpc.method", "Relay.Processes"), good = ("error.type", "")
            #expect(try metrics.expectTimer("rpc.server.call.duration", [method, type, good]).values.count == 5)
            #expect(try metrics.expectTimer("rpc.client.call.duration", [method, type, good]).values.count == 5)
            try await eventually("the worker has the message that was passed on") {
                let seen = try await runtime.ask(Relay.Look(), at: RelayTree.path(1), timeout: .patient(.seconds(30)))
                let passed = seen.timers.first { $0.label == "messaging.process.duration" }
                let asked = seen.timers.first {
                    $0.label == "rpc.server.call.duration" && $0.dimensions.contains("rpc.method=Relay.Processes")
                }
                return passed?.count == 1 && asked?.count == 5
            }
        }
        #expect(try metrics.expectCounter("coordinator.changes", [("change", "stopped")]).totalValue >= 1)
    }
}

private struct Hop {
    var trace: String
    var span: String
    var parent: String?
    var kind: String
}

/// A tracer that looks for `traceparent` and `tracestate`, as one of W3C's does.
private struct W3CTracer: Tracer {
    let inner = InMemoryTracer(idGenerator: .random)

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> InstrumentationContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        inner.startSpan(operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line)
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(_ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject)
    where Carrier == Inject.Carrier { inner.inject(context, into: &carrier, using: injector) }

    func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract)
    where Carrier == Extract.Carrier { inner.extract(carrier, into: &context, using: extractor) }
}

/// Notes numbers by rows of both kinds.
private actor Notebook: Coordinator {
    struct Note: ResponderMessage {
        var number: Int
    }

    struct NoteAwaiting: ResponderMessage {
        var number: Int
    }

    struct Notes: ResponderMessage {
        typealias Reply = [Int]
    }

    static let responders: Responders = [
        .respond(to: Note.self) { me, note in me.notes.append(note.number) },
        .respond(to: NoteAwaiting.self) { me, note in
            me.notes.append(note.number)
            await Task.yield()
        },
        .respond(to: Notes.self) { me, _ in me.notes },
    ]

    nonisolated let context: Context
    private var notes: [Int] = []

    init(_ context: Context) { self.context = context }
}
