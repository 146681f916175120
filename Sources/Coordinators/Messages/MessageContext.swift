import ConcurrencySupport
import WireProtocol

/// The sender, remaining time and trace of a message.
public struct MessageContext: Sendable {
    /// The coordinator that asked first, as the process says that has sent the message: a worker that means harm may name another.
    public let sender: CoordinatorPath
    /// The time that remains until the asker's deadline; `nil`: no deadline.
    public let remainingTime: Duration?
    /// The trace that the message belongs to.
    public let trace: TraceContext?

    init(_ envelope: Envelope, _ time: TimeSource) {
        sender = envelope.sender
        remainingTime = envelope.deadline.map { max($0 - time.now, .zero) }
        trace = TraceContext(envelope.trace)
    }
}

/// The trace that a message belongs to: the value of a W3C `traceparent` header, which the runtime doesn't parse.
///
/// A trace goes with every message that is sent while it's ``current``, through every process, and is current in their handlers.
/// Follows https://www.w3.org/TR/trace-context/.
public struct TraceContext: Sendable, Hashable, Codable {
    /// The header's value, `00-<trace>-<span>-<flags>`.
    public let traceparent: String

    /// Creates a trace context.
    public init(traceparent: String) { self.traceparent = traceparent }

    /// The trace of the message that this task handles, or that the caller has set for it.
    @TaskLocal public static var current: TraceContext?
}

extension TraceContext {
    init?(_ bytes: Bytes) {
        // Bytes that aren't UTF-8 would become longer from process to process.
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(traceparent: text)
    }

    var bytes: Bytes { Bytes(Array(traceparent.utf8)) }
}
