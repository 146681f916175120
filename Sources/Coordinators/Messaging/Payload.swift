import ConcurrencySupport
import WireProtocol

/// A message's bytes, which are released once the handler has the message itself: both together would take twice what the mailbox counts.
final class Payload: Sendable {
    /// The number of bytes at the start.
    let count: Int
    private let content: Lock<Bytes>

    init(_ bytes: Bytes) {
        count = bytes.count
        content = Lock(bytes)
    }

    var bytes: Bytes { content.withLock { $0 } }

    /// Returns the bytes and releases them.
    func take() -> Bytes {
        content.withLock { content in
            defer { content = [] }
            return content
        }
    }
}
