import ConcurrencySupport
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

// MARK: - The replies of a stream

/// The replies of a `.stream` row, which its body sends.
public struct Replies<M: ResponderMessage>: Sendable {
    let envelope: Envelope
    let time: TimeSource

    /// The sender, remaining time and trace of the message.
    public var context: MessageContext { MessageContext(envelope, time) }

    /// Accepts the request before there is a reply: an asker that waits for that, by ``ReplyStream/accepted(within:)``, goes on.
    ///
    /// The first reply and the regular end accept as well. What the body throws before is thrown where the asker waits.
    public func accept() { envelope.flow?.accept() }

    /// Sends one reply, and waits while the asker has 64 unread, or, in another process, 16 MiB in replies of more than 256 KiB each.
    ///
    /// - Throws: `CancellationError` when the asker reads no more; the body needn't catch it.
    public func send(_ reply: M.Reply) async throws {
        guard let flow = envelope.flow else {
            // The asker used `ask`: the first reply is the answer, and the body is done.
            envelope.end(.success(.value(reply)))
            throw CancellationError()
        }
        try await flow.send(.value(reply))
    }
}

extension Envelope {
    /// Whether replies of a stream have gone to the asker.
    var hasReplied: Bool { flow?.hasPassed ?? false }

    /// Returns the answer that the end of a `.stream` row's body gives the asker.
    func endOfReplies() throws -> Answer {
        if flow != nil || isOneWay || isAcknowledged { return .none }
        throw CoordinatorError(.unhandled, "the stream of \(body.name) ended without a reply")
    }
}
