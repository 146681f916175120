/// What a `.stream` row answers into.
public struct Replies<M: ResponderMessage>: Sendable {
    let envelope: Envelope

    /// What came with the message.
    public var context: MessageContext { MessageContext(envelope) }

    /// Sends one reply, and waits while the asker has 64 unread.
    ///
    /// - Throws: `CancellationError` when nobody wants more; the body may let it pass.
    public func send(_ reply: M.Reply) async throws {
        guard let flow = envelope.flow else {
            // Asked for with `ask`: the first reply is the answer, and the body has done its work.
            envelope.end(.success(.value(reply)))
            throw CancellationError()
        }
        try await flow.send(.value(reply))
    }
}

extension Envelope {
    /// Whether replies of a stream have gone to the asker.
    var hasReplied: Bool { flow?.hasPassed ?? false }

    /// What the end of a body that streams means to who asked.
    func endOfReplies() throws -> Answer {
        if flow != nil || isOneWay { return .none }
        throw CoordinatorError(.unhandled, "the stream of \(body.name) ended without a reply")
    }
}
