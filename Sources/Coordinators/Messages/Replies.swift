import ConcurrencySupport

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
