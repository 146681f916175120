import Coordinators
import CoordinatorsObservability
import Glibc
public import InMemoryTracing
import MetricsTestKit

/// The backends of a worker's process, which keep everything in memory.
public enum ProcessBackends {
    static let tracer = InMemoryTracer(idGenerator: .random)
    static let metrics = TestMetrics()

    static var instruments: [any CoordinatorInstrument] { [TracingInstrument(tracer), MetricsInstrument(factory: metrics)] }

    /// The spans that have ended in this process, and the metrics.
    static var seen: Seen {
        let spans = tracer.finishedSpans.map { span in
            Seen.Span(
                trace: span.traceID,
                span: span.spanID,
                parent: span.parentSpanID,
                name: span.operationName,
                kind: "\(span.kind)",
                hasFailed: !span.errors.isEmpty
            )
        }
        let timers = metrics.timers.map { timer in
            Seen.Timer(label: timer.label, dimensions: timer.dimensions.map { "\($0.0)=\($0.1)" }.sorted(), count: timer.values.count)
        }
        return Seen(processID: getpid(), spans: spans, timers: timers)
    }
}

/// What the backends of one process have.
public struct Seen: Codable, Sendable {
    public struct Span: Codable, Hashable, Sendable {
        public var trace: String
        public var span: String
        public var parent: String?
        public var name: String
        public var kind: String
        public var hasFailed: Bool
    }

    public struct Timer: Codable, Hashable, Sendable {
        public var label: String
        public var dimensions: [String]
        public var count: Int
    }

    public var processID: Int32
    public var spans: [Span]
    public var timers: [Timer]
}

extension InMemoryTracer.IDGenerator {
    /// Numbers that no other process draws.
    public static var random: Self {
        Self(nextTraceID: { "trace-\(UInt64.random(in: 0 ... .max))" }, nextSpanID: { "span-\(UInt64.random(in: 0 ... .max))" })
    }
}
