import ConcurrencySupport
import WireProtocol

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

    func stranger(to path: CoordinatorPath) -> String? { Self.stranger(to: path, among: spans.lazy.map(\.path)) }

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
