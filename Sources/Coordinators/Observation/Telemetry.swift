import ConcurrencySupport
import Glibc
import Synchronization
import WireProtocol

/// The recorder of spans and of the times of asks, in this process and those below.
///
/// The root's process decides what is recorded in the whole tree; the workers need no instruments of their own. Everything that they record
/// is sent up to the root's process, so that it alone exports, and that nothing is lost with a worker but its last moments.
final class Telemetry: Sendable {
    private let activity: ObservationActivity
    private let state = Lock(TelemetryConfiguration())
    /// Tells when the configuration changes.
    private let switched = ChangeTeller(TelemetryConfiguration())
    /// The share of the traces that are recorded, of 2^32; `UInt64.max`: none, and no trace is begun.
    private let sampling = Atomic<UInt64>(.max)
    private let measures = Atomic<Bool>(false)
    private let exporter: (any TelemetryExporter)?
    private let spansUpward: UpwardReports<SpanReport>?
    private let asksUpward: UpwardReports<AskDurations>?
    /// All asks of the tree, in the root's process.
    private let total = Lock(AskDurations())

    /// - Parameter exporter: What gets the spans in the root's process.
    init(_ configuration: TelemetryConfiguration, exporter: (any TelemetryExporter)?, uplink: Uplink?, activity: ObservationActivity) {
        self.activity = activity
        self.exporter = exporter
        spansUpward = uplink.map { UpwardReports($0, isPrompt: false) }
        // A busy process measures something at any time, and what it measures is looked at every few seconds.
        asksUpward = uplink.map { UpwardReports($0, isPrompt: false, delay: .milliseconds(250)) }
        set(configuration)
    }

    var isActive: Bool { activity.has(.telemetry) }

    var configuration: TelemetryConfiguration { state.withLock { $0 } }

    /// The times of the asks of the tree, in the root's process.
    var asks: AskDurations { total.withLock { $0 } }

    /// Records what the process above wants.
    func set(_ configuration: TelemetryConfiguration) {
        state.withLock { state in
            guard state != configuration else { return }
            state = configuration
            sampling.store(configuration.sampling.map { UInt64($0 * 0x1p32) } ?? .max, ordering: .relaxed)
            measures.store(configuration.measures, ordering: .relaxed)
            activity.set(.telemetry, !configuration.isEmpty)
        }
        switched.tell { self.configuration }
    }

    /// Adds a function that is called when the configuration changes: for a link to a process below.
    func whenSwitched(_ change: @escaping @Sendable (TelemetryConfiguration) -> Void) -> UInt64 {
        switched.add(change)
    }

    func forget(_ id: UInt64) { switched.remove(id) }

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
        let span = openSpan(message)
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
        let span = openSpan(message)
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

    private func openSpan(_ message: MessageInfo) -> OpenSpan? {
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
            asksUpward.update { $0.count(key, whole) }
        } else {
            total.withLock { $0.count(key, whole) }
        }
    }
}

// MARK: - What is recorded, and who exports it

/// What is recorded in the whole tree.
package struct TelemetryConfiguration: Sendable, Hashable {
    /// The share of the traces that begin in the tree whose spans are recorded, from 0 to 1; `nil`: there are no spans.
    ///
    /// A message that has come with a trace follows that trace's own decision.
    package var sampling: Double?
    /// Whether the times of asks are counted.
    package var measures = false

    package init() {}

    /// Creates a configuration; a share beyond its bounds is the nearest within them, and one that is no number is 0.
    package init(sampling: Double?, measures: Bool) {
        (self.sampling, self.measures) = (sampling.map { $0 > 0 ? min($0, 1) : 0 }, measures)
    }

    var isEmpty: Bool { self == TelemetryConfiguration() }
}

extension TelemetryConfiguration {
    /// The beginning of the names by which a process subscribes to what those below record.
    static let subscription = "coordinators.telemetry"

    /// The name of the subscription to this, `coordinators.telemetry spans=0.1 asks`.
    ///
    /// Each subscription takes the place of the former, and a process of a build that doesn't know its name ignores it.
    var subscription: String {
        Self.subscription + (sampling.map { " spans=\($0)" } ?? "") + (measures ? " asks" : "")
    }

    /// Reads the name of a subscription; what this build doesn't know in it is left out.
    init?(subscription name: String) {
        let words = name.split(separator: " ")
        guard words.first.map(String.init) == Self.subscription else { return nil }
        var sampling: Double?
        for word in words where word.hasPrefix("spans=") { sampling = Double(word.dropFirst(6)).flatMap { $0.isFinite ? $0 : nil } }
        self.init(sampling: sampling, measures: words.contains("asks"))
    }
}

/// What gets everything that is recorded in the tree, in the root's process.
package protocol TelemetryExporter: Sendable {
    /// What it wants to be recorded.
    var configuration: TelemetryConfiguration { get }
    /// Takes spans, and the number of those that were left out before them; it's called where a message is handled, and returns at once.
    func export(_ spans: [MessageSpan], missed: UInt64)
    /// Exports the numbers of the tree from time to time until it's cancelled.
    func run(_ source: TelemetrySource) async
    /// Writes or sends what it has, at the end of the process, which waits a second at most.
    func flush(_ source: TelemetrySource) async
}

/// What the numbers of a tree are read from.
package struct TelemetrySource: Sendable {
    /// The times of asks since the tree was started.
    package let asks: @Sendable () -> AskDurations
    /// The number of messages and events that were dropped.
    package let deadLetters: @Sendable () -> UInt64
    /// Describes the tree.
    package let snapshot: @Sendable () async -> CoordinatorSnapshot?
}

// MARK: - Spans

/// The time that a message took at one place: where it was sent, or in a row that has handled it.
package struct MessageSpan: Sendable, Hashable, Codable {
    /// The trace that the span belongs to.
    package var trace: TraceIdentifier
    package var span: UInt64
    /// The span that this one is below; `nil`: the trace begins here.
    package var parent: UInt64?
    /// The coordinator that has sent or handled the message.
    package var path: CoordinatorPath
    /// The type of that coordinator; empty for code outside of the tree.
    package var type: String
    package var processID: Int32
    package var message: String
    /// The coordinator that sent the message first.
    package var sender: CoordinatorPath
    /// Whether the message was sent rather than handled.
    package var isOutgoing: Bool
    /// Whether the message is one-way.
    package var isOneWay: Bool
    /// Whether the message that was handled has come from another process.
    package var isRemote: Bool
    /// The beginning, in nanoseconds since 1970.
    package var began: Int64
    /// The time that it took, in nanoseconds.
    package var took: Int64
    /// The time before the beginning for which the message has waited in its process, in nanoseconds.
    package var waited: Int64
    /// The error that ended it.
    package var error: String?
    /// The type of that error.
    package var errorType: String?
}

/// The 16 bytes of a trace's identifier.
package struct TraceIdentifier: Sendable, Hashable, Codable {
    package var high: UInt64
    package var low: UInt64

    /// Draws an identifier; zero, which isn't one, is as likely as any other, and drawn in no program's life.
    static var random: TraceIdentifier { TraceIdentifier(high: .random(in: 0 ... .max), low: .random(in: 1 ... .max)) }
}

/// The spans that a process reports at a time.
struct SpanReport: UpwardReport {
    /// The number of spans that are reported at a time; further ones are only counted.
    static let limit = 256
    static let notification = "coordinators.spans"

    private(set) var spans: [MessageSpan] = []
    private(set) var missed: UInt64 = 0

    init() {}

    init(_ span: MessageSpan) { spans = [span] }

    var isEmpty: Bool { spans.isEmpty && missed == 0 }

    func subjectOutside(of path: CoordinatorPath) -> String? { Self.subjectOutside(of: path, among: spans.lazy.map(\.path)) }

    mutating func add(_ other: SpanReport) {
        let taken = other.spans.prefix(Self.limit - spans.count)
        spans += taken.map(\.shortened)
        missed = missed.addingSaturating(other.missed).addingSaturating(UInt64(other.spans.count - taken.count))
    }
}

extension MessageSpan {
    /// The span with texts of a length that may be kept: another process may have sent it.
    fileprivate var shortened: MessageSpan {
        var span = self
        (span.path, span.sender) = (path.shortened, sender.shortened)
        (span.type, span.message) = (type.shortened, message.shortened)
        (span.error, span.errorType) = (error?.shortened, errorType?.shortened)
        return span
    }
}
