import WireProtocol

/// The answer of a handler, in the form in which it arrived.
enum Answer: Sendable {
    /// A one-way message was accepted.
    case none
    /// A value from a handler in this process, which is never encoded.
    case value(any Codable & Sendable)
    /// An encoded value from another process.
    case encoded(PayloadCodec, Bytes)

    /// The size of the answer in bytes, if it has come from another process.
    var receivedBytes: Int {
        if case .encoded(_, let bytes) = self { bytes.count } else { 0 }
    }

    func decoded<Reply: Codable & Sendable>(as type: Reply.Type) throws -> Reply {
        switch self {
        case .value(let value):
            if let reply = value as? Reply { return reply }
            throw CoordinatorError(.coding, "the answer is \(Swift.type(of: value)), not \(type)", maybeExecuted: true)
        case .encoded(let codec, let bytes):
            do throws(CoordinatorError) {
                return try PayloadCoder.decode(type, from: bytes, codec: codec)
            } catch {
                // There is an answer: the message was handled.
                throw error.doubted
            }
        case .none:
            if let reply = NoReply() as? Reply { return reply }
            throw CoordinatorError(.coding, "the answer is empty, not \(type)", maybeExecuted: true)
        }
    }

    /// Returns the answer for a process that asked in `codec`, together with its own codec, since each answer names it: JSON can go
    /// anywhere.
    func wire(for codec: PayloadCodec) throws(CoordinatorError) -> (PayloadCodec, Bytes) {
        if case .encoded(.json, let bytes) = self { return (.json, bytes) }
        return (codec, try encoded(as: codec))
    }

    /// Returns the answer for a process that asked in `codec`.
    func encoded(as codec: PayloadCodec) throws(CoordinatorError) -> Bytes {
        switch self {
        case .none: return try PayloadCoder.encode(NoReply(), as: codec)
        case .value(let value): return try PayloadCoder.encode(value, as: codec)
        case .encoded(let own, let bytes):
            guard own == codec else {
                throw CoordinatorError(.coding, "an answer came back in another encoding than its ask's")
            }
            return bytes
        }
    }
}
