import ConcurrencySupport
import WireProtocol

/// A message's bytes, until its handler has the message itself: both together would take twice what the mailbox counts.
final class Payload: Sendable {
    /// How many bytes there were.
    let count: Int
    private let content: Lock<Bytes>

    init(_ bytes: Bytes) {
        count = bytes.count
        content = Lock(bytes)
    }

    var bytes: Bytes { content.withLock { $0 } }

    /// The bytes, which nobody needs any more after this.
    func take() -> Bytes {
        content.withLock { content in
            defer { content = [] }
            return content
        }
    }
}
