import ConcurrencySupport
import Glibc
import Synchronization
import WireProtocol

/// The recorder of spans and of the times of asks, in this process and those below.
///
/// The root's process decides what is recorded in the whole tree; the workers need no instruments of their own. Everything that they record
/// is sent up to the root's process, so that it alone exports, and that nothing is lost with a worker but its last moments.
final class Telemetry: Sendable {
    private struct State {
        var wish: TelemetryConfiguration
        /// The functions that are called when the wish changes.
        var listeners = ChangeListeners<TelemetryConfiguration>()
    }

    private let activity: ObservationActivity
    private let state: Lock<State>
    /// The share of the traces that are recorded, of 2^32; `UInt64.max`: none, and no trace is begun.
    private let sampling = Atomic<UInt64>(.max)
    private let measures = Atomic<Bool>(false)
    private let exporter: (any TelemetryExporter)?
    private let spansUpward: UpwardReports<SpanReport>?
    private let asksUpward: UpwardReports<AskDurations>?
    /// All asks of the tree, in the root's process.
    private let total = Lock(AskDurations())

    /// - Parameter exporter: What gets the spans in the root's process.
    init(_ wish: TelemetryConfiguration, exporter: (any TelemetryExporter)?, uplink: Uplink?, activity: ObservationActivity) {
        self.activity = activity
        self.exporter = exporter
        state = Lock(State(wish: TelemetryConfiguration()))
        spansUpward = uplink.map { UpwardReports($0, isPrompt: false) }
        // A busy process measures something at any time, and what it measures is looked at every few seconds.
        asksUpward = uplink.map { UpwardReports($0, isPrompt: false, delay: .milliseconds(250)) }
        set(wish)
    }

    var isActive: Bool { activity.has(.telemetry) }

    var wish: TelemetryConfiguration { state.withLock { $0.wish } }

    /// The times of the asks of the tree, in the root's process.
    var asks: AskDurations { total.withLock { $0 } }

    /// Records what the process above wants.
    func set(_ wish: TelemetryConfiguration) {
        let listeners = state.withLock { state -> [@Sendable (TelemetryConfiguration) -> Void] in
            guard state.wish != wish else { return [] }
            state.wish = wish
            sampling.store(wish.sampling.map { UInt64($0 * 0x1p32) } ?? .max, ordering: .relaxed)
            measures.store(wish.measures, ordering: .relaxed)
            activity.set(.telemetry, !wish.isEmpty)
            return state.listeners.all
        }
        for change in listeners { change(wish) }
    }

    /// Adds a function that is called when the wish changes: for a link to a process below.
    func whenSwitched(_ change: @escaping @Sendable (TelemetryConfiguration) -> Void) -> UInt64 {
        state.withLock { $0.listeners.add(change) }
    }

    func forget(_ id: UInt64) { state.withLock { $0.listeners.remove(id) } }

    /// Adds spans of this process or of one below.
    func add(_ report: SpanReport) {
        spansUpward?.add(report)
        exporter?.export(report.spans, missed: report.missed)
    }

    /// Adds the asks of a process below.
    func add(_ asks: AskDurations) {
        if let asksUpward { asksUpward.add(asks) } else { total.withLock { $0.add(asks) } }
    }

    /// Sends what was recorded up, and returns when the link has it.
    func flush() async {
        await spansUpward?.flushToEnd()
        await asksUpward?.flushToEnd()
    }
}

// MARK: - Recording

extension Telemetry {
    func around<R: Sendable>(_ message: MessageInfo, next: () async throws -> R) async throws -> R {
        let began = MonotonicTime.now
        let span = begin(message)
        do {
            let result = try await inTrace(of: span) { try await next() }
            end(span, message, since: began)
            return result
        } catch {
            end(span, message, since: began, error)
            throw error
        }
    }

    func around<R: Sendable>(_ message: MessageInfo, next: () throws -> R) throws -> R {
        let began = MonotonicTime.now
        let span = begin(message)
        do {
            let result: R
            if let span {
                result = try TraceContext.$current.withValue(span.context) { try next() }
            } else {
                result = try next()
            }
            end(span, message, since: began)
            return result
        } catch {
            end(span, message, since: began, error)
            throw error
        }
    }

    private func inTrace<R: Sendable>(of span: OpenSpan?, _ body: () async throws -> R) async throws -> R {
        guard let span else { return try await body() }
        return try await TraceContext.$current.binding(span.context, body)
    }

    /// A span that hasn't ended, or the decision that none is recorded.
    private struct OpenSpan {
        var fields: TraceContext.Fields
        var parent: UInt64?
        var context: TraceContext
        var began: Int64
    }

    private func begin(_ message: MessageInfo) -> OpenSpan? {
        let sampling = sampling.load(ordering: .relaxed)
        guard sampling != .max else { return nil }
        // The instruments that this process has itself may have continued the trace.
        let former = TraceContext.current
        var fields: TraceContext.Fields
        var parent: UInt64?
        if let given = former?.fields {
            // All processes follow the decision of the one in which the trace has begun.
            guard given.isSampled else { return nil }
            (fields, parent) = (given, given.span)
        } else {
            // The text of a tracer with an idea of its own of traces goes on as it is.
            if let former, !former.traceparent.hasPrefix("\n") { return nil }
            let isSampled = UInt64(UInt32.random(in: 0 ... .max)) < sampling
            fields = TraceContext.Fields(trace: .random, span: 0, isSampled: isSampled)
        }
        fields.span = .random(in: 1 ... .max)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return OpenSpan(
            fields: fields,
            parent: parent,
            context: TraceContext(fields, after: former),
            began: Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
        )
    }

    private func end(_ span: OpenSpan?, _ message: MessageInfo, since began: MonotonicTime, _ error: (any Error)? = nil) {
        let took = MonotonicTime.now - began
        if measures.load(ordering: .relaxed), message.kind == .ask, message.direction == .incoming {
            measure(message, took, hasFailed: error != nil)
        }
        guard let span, span.fields.isSampled else { return }
        let ended = MessageSpan(
            trace: span.fields.trace,
            span: span.fields.span,
            parent: span.parent,
            path: message.path,
            type: message.coordinatorType ?? "",
            processID: getpid(),
            message: message.name,
            sender: message.sender,
            isOutgoing: message.direction == .outgoing,
            isOneWay: message.kind == .send,
            isRemote: message.isRemote,
            began: span.began,
            took: took.nanosecondsClamped,
            waited: message.waited.nanosecondsClamped,
            error: error.map { "\($0)".shortened },
            errorType: error.map { "\(type(of: $0))" }
        )
        add(SpanReport(ended))
    }

    private func measure(_ message: MessageInfo, _ took: Duration, hasFailed: Bool) {
        let key = AskDurations.Key(path: message.path.description, message: message.name, hasFailed: hasFailed)
        let whole = message.waited + took
        if let asksUpward {
            asksUpward.update { $0.note(key, whole) }
        } else {
            total.withLock { $0.note(key, whole) }
        }
    }
}
