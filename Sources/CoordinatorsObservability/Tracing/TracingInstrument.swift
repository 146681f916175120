import ConcurrencySupport
public import Coordinators
public import Tracing

/// An instrument that has a span around each message, with swift-distributed-tracing, in any backend.
///
///     options.instruments = [TracingInstrument(tracer)]
///
/// It's installed in each process of the tree. A message that is sent has a span of the kind client or producer, and each row that answers
/// or intercepts it one of the kind server or consumer below that, in whatever process the row runs. Spans that a handler makes itself
/// are below the row's, because the span's context is `InstrumentationContext.current` in the handler.
///
/// What the backend injects goes with the message: a W3C `traceparent`, or fields of the backend's own, at most a kilobyte. The names follow
/// OpenTelemetry's conventions, https://opentelemetry.io/docs/specs/semconv/rpc/rpc-spans/. The span of a stream ends when the request has left, and
/// that of its row with the last reply.
public struct TracingInstrument: CoordinatorInstrument {
    private let given: (any Tracer)?

    /// Creates an instrument.
    ///
    /// - Parameter tracer: The backend; `nil`: the one that the process has bootstrapped by the time of each message.
    public init(_ tracer: (any Tracer)? = nil) { given = tracer }

    /// Has a span around a message.
    public func around<R: Sendable>(
        _ message: MessageInfo,
        next: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        let (span, context, trace) = openSpan(message)
        defer { span.end() }
        do {
            return try await InstrumentationContext.$current.binding(context) {
                try await TraceContext.$current.binding(trace, next)
            }
        } catch {
            span.record(error)
            throw error
        }
    }

    /// Has a span around a message.
    public func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        let (span, context, trace) = openSpan(message)
        defer { span.end() }
        do {
            return try InstrumentationContext.$current.withValue(context) {
                try TraceContext.$current.withValue(trace) { try next() }
            }
        } catch {
            span.record(error)
            throw error
        }
    }

    /// Begins the span of a message.
    ///
    /// - Returns: The span, its context, and the trace that goes with the message.
    private func openSpan(_ message: MessageInfo) -> (any Span, InstrumentationContext, TraceContext?) {
        let tracer: any Tracer = given ?? InstrumentationSystem.tracer
        let name = message.name
        let span = tracer.startSpan(
            message.coordinatorType.map { "\($0)/\(name)" } ?? name,
            context: parent(of: message, in: tracer),
            ofKind: message.spanKind
        )
        if span.isRecording { span.updateAttributes { $0.describe(message, named: name) } }
        // Fields that the tracer doesn't know are others', and go on.
        var fields = message.trace?.fields ?? [:]
        tracer.inject(span.context, into: &fields, using: TraceFields())
        let trace = TraceContext(fields: fields) ?? message.trace
        var context = span.context
        context[TraceOfContext.self] = trace
        return (span, context, trace)
    }

    /// Returns the context of the span above a message.
    ///
    /// That's the context of the task, in which the sender may have begun spans of its own, unless the message belongs to another trace.
    private func parent(of message: MessageInfo, in tracer: any Tracer) -> InstrumentationContext {
        let current = InstrumentationContext.current
        guard let trace = message.trace else { return message.direction == .outgoing ? current ?? .topLevel : .topLevel }
        if let current, current[TraceOfContext.self] == trace { return current }
        var context = InstrumentationContext.topLevel
        tracer.extract(trace.fields, into: &context, using: TraceFields())
        return context
    }
}

/// The trace that was made of a context, by which a task's own context is told from one that it has inherited from another message.
private enum TraceOfContext: InstrumentationContextKey {
    typealias Value = TraceContext
}

extension Span {
    fileprivate func record(_ error: any Error) {
        recordError(error)
        setStatus(SpanStatus(code: .error))
        updateAttributes { $0["error.type"] = "\(type(of: error))" }
    }
}

extension MessageInfo {
    fileprivate var spanKind: SpanKind {
        switch (direction, kind) {
        case (.outgoing, .send): .producer
        case (.outgoing, .ask), (.outgoing, .stream): .client
        case (.incoming, .send): .consumer
        case (.incoming, .ask), (.incoming, .stream): .server
        }
    }
}

extension SpanAttributes {
    fileprivate mutating func describe(_ message: MessageInfo, named name: String) {
        if message.kind == .send {
            self["messaging.system"] = "coordinators"
            self["messaging.operation.name"] = name
            self["messaging.operation.type"] = message.direction == .outgoing ? "send" : "process"
        } else {
            self["rpc.system.name"] = "coordinators"
            self["rpc.method"] = name
        }
        self["coordinator.path"] = message.path.description
        self["coordinator.sender"] = message.sender.description
        if let type = message.coordinatorType { self["coordinator.type"] = type }
        if message.direction == .incoming {
            self["coordinator.remote"] = message.isRemote
            self["coordinator.waited_us"] = Int64(clamping: message.waited.attoseconds / 1_000_000_000_000)
        }
    }
}
