import Coordinators
import CoordinatorsObservability
import CoreMetrics
import Synchronization
import Tracing

/// Stands for what a metrics library gives.
private func record(_ labels: [String], _ duration: Duration) {}

// snippet: instrument
struct Latencies: CoordinatorInstrument {
    nonisolated(nonsending) func around<R: Sendable>(
        _ message: MessageInfo,
        next: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        let began = ContinuousClock.now
        defer { note(message, ContinuousClock.now - began) }
        return try await next()
    }

    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        let began = ContinuousClock.now
        defer { note(message, ContinuousClock.now - began) }
        return try next()
    }

    private func note(_ message: MessageInfo, _ duration: Duration) {
        record([message.name, message.direction.rawValue, message.coordinatorType ?? ""], duration)
    }
}
// end

// snippet: metrics
func metrics(of runtime: CoordinatorRuntime) async -> (mediaType: String, body: String) {
    (CoordinatorRuntime.prometheusMediaType, await runtime.prometheusText())
}
// end

func reportNumbers(_ options: inout CoordinatorRuntime.Options) {
    // snippet: backend
    var numbers = TelemetryExport(service: "gallery")
    numbers.backend = .init(interval: .seconds(10))
    options.export(numbers)
    // end
}

// snippet: changes
final class Restarts: CoordinatorInstrument {
    private let counts = Mutex<[ExitReason: Int]>([:])

    nonisolated(nonsending) func around<R: Sendable>(
        _ message: MessageInfo,
        next: nonisolated(nonsending) () async throws -> R
    ) async throws -> R { try await next() }

    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R { try next() }

    func changed(_ path: CoordinatorPath, _ change: LifecycleChange) {
        if case .crashed(let reason) = change { counts.withLock { $0[reason, default: 0] += 1 } }
    }
}
// end

/// A tracer in a few lines: it makes a span's number, and notes its parent's.
struct Tracing: CoordinatorInstrument {
    // snippet: trace
    nonisolated(nonsending) func around<R: Sendable>(
        _ message: MessageInfo,
        next: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        let span = Span(of: message, under: message.trace)
        defer { span.end() }
        return try await TraceContext.$current.withValue(span.context) { try await next() }
    }
    // end

    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        let span = Span(of: message, under: message.trace)
        defer { span.end() }
        return try TraceContext.$current.withValue(span.context) { try next() }
    }
}

private struct Span {
    let context: TraceContext

    init(of message: MessageInfo, under parent: TraceContext?) {
        let trace = parent?.traceparent.split(separator: "-").dropFirst().first.map(String.init) ?? Self.hexadecimal(32)
        context = TraceContext(traceparent: "00-\(trace)-\(Self.hexadecimal(16))-01")
    }

    func end() {}

    private static func hexadecimal(_ count: Int) -> String { String((0..<count).map { _ in "0123456789abcdef".randomElement() ?? "0" }) }
}

func runObserved() async throws {
    // snippet: install
    var options = CoordinatorRuntime.Options()
    options.instruments = [Tracing(), Latencies(), Restarts()]
    try await CoordinatorRuntime.main(GalleryCoordinator.self, coordinators: [RendererCoordinator.self], options: options)
    // end
}

func exported() throws -> CoordinatorRuntime.Options {
    // snippet: export
    var options = CoordinatorRuntime.Options()
    var export = TelemetryExport(service: "gallery")
    export.traces = .init(to: try .endpoint("http://127.0.0.1:4318"), sample: 0.1)
    export.metrics = .init(to: .file("/var/log/gallery/metrics.jsonl"), interval: .seconds(10))
    options.export(export)
    // end
    return options
}

func adapted(tracer: some Tracer, metrics: some MetricsFactory) -> CoordinatorRuntime.Options {
    var options = CoordinatorRuntime.Options()
    // snippet: adapters
    options.bootstrap = { _ in
        InstrumentationSystem.bootstrap(tracer)
        MetricsSystem.bootstrap(metrics)
    }
    options.instruments = [TracingInstrument(), MetricsInstrument()]
    // end
    return options
}

func readSnapshots(_ runtime: CoordinatorRuntime) async throws {
    // snippet: snapshot
    let renderer = try await runtime.snapshot(of: "/renderer")
    if let mailbox = renderer.mailbox, mailbox.oldestWaiting ?? .zero > .seconds(1) {
        print("\(renderer.path) doesn't keep up: \(mailbox.waiting) wait, \(mailbox.running) run, \(mailbox.handled) are done")
    }
    // end
}

func readTap(_ runtime: CoordinatorRuntime) async {
    // snippet: tap
    for await event in runtime.tap() {
        if case .handled(let message, let sender, let duration, let error) = event.kind {
            print(event.path, message, sender, duration, error ?? "-")
        }
    }
    // end
}
