import ConcurrencySupport

/// The rest of the chain, as an interceptor sees it.
public struct Chain<M: ResponderMessage>: Sendable {
    let continuation: ChainContinuation

    /// The sender, deadline and trace of the message.
    public var context: MessageContext { MessageContext(continuation.envelope, continuation.cell.runtime.time) }

    /// Lets the message climb further, and waits for the reply.
    ///
    /// Later rows of the same table come first, then the ancestors'.
    ///
    /// - Throws: `unhandled` when no coordinator further up responds; the error that the responder threw.
    public func next(_ message: M) async throws -> M.Reply {
        // An interceptor of a one-way message sees the reply all the same, if there is one.
        let isReplyless = M.Reply.self == NoReply.self
        return try await continuation.next(.value(message), isOneWay: continuation.envelope.isOneWay && isReplyless).decoded(
            as: M.Reply.self
        )
    }
}

/// The rest of the chain for a message whose type doesn't matter.
public struct AnyChain: Sendable {
    let continuation: ChainContinuation

    /// Lets the message climb on as it is, and waits for the reply.
    public func next() async throws -> AnyReply {
        AnyReply(answer: try await continuation.next(continuation.envelope.body, isOneWay: continuation.envelope.isOneWay))
    }
}

/// A message whose type doesn't matter, known by its name.
public struct AnyMessage: Sendable {
    let envelope: Envelope
    let time: TimeSource

    /// The wire name, "Cart.Add".
    public var name: String { envelope.body.name }

    /// The sender, deadline and trace of the message.
    public var context: MessageContext { MessageContext(envelope, time) }

    /// Whether the sender waits for no answer.
    package var isOneWay: Bool { envelope.isOneWay }

    /// Returns the message as a value of its type.
    ///
    /// - Throws: `coding` when the message is of another type.
    public func decoded<M: ResponderMessage>(as type: M.Type = M.self) throws -> M { try envelope.message(as: type) }
}

/// The reply to a message whose type doesn't matter.
public struct AnyReply: Sendable {
    let answer: Answer

    /// Creates a reply from a value, which must be of the message's reply type.
    public init(_ reply: some Codable & Sendable) { answer = .value(reply) }

    init(answer: Answer) { self.answer = answer }

    /// Returns the reply as a value of its type.
    public func decoded<Reply: Codable & Sendable>(as type: Reply.Type = Reply.self) throws -> Reply { try answer.decoded(as: type) }
}

/// The rest of a message's way, from the row of an interceptor that lets it climb.
struct ChainContinuation: Sendable {
    let cell: CoordinatorCell
    let envelope: Envelope
    /// The interceptor's row.
    let index: Int

    func next(_ body: Envelope.Body, isOneWay: Bool) async throws -> Answer {
        try await next(body, isOneWay: isOneWay, delivery: newDelivery()) { cell.climb($0, after: index) }
    }

    /// Returns the identity of the message that this coordinator sends on; `nil` if the one that has arrived isn't acknowledged.
    ///
    /// What an interceptor sends on is a message of its own, of which it may send several: the one that has arrived was taken here.
    func newDelivery() -> AcknowledgedDelivery? {
        envelope.isAcknowledged ? AcknowledgedDelivery(numberedBy: cell.runtime.execution.sequences) : nil
    }

    /// Sends the message on as `dispatch` does, with the sender, deadline, trace and replies of the one that has arrived.
    ///
    /// - Parameters:
    ///   - delivery: The identity with which an acknowledged message goes on.
    ///   - lingers: Whether a message whose handler has begun ends with the handler alone.
    func next(
        _ body: Envelope.Body,
        isOneWay: Bool,
        isOfPool: Bool = false,
        delivery: AcknowledgedDelivery?,
        lingers: Bool = false,
        by dispatch: (Envelope) -> Void
    ) async throws -> Answer {
        defer { delivery?.settle() }
        let last = LastReply()
        let flow = envelope.flow.map { flow in
            ReplyFlow(
                { answer in
                    last.reply = answer
                    return try flow.pass(answer)
                },
                accepted: { flow.accept() }
            )
        }
        let continuation = Envelope(
            body,
            asker: .relay(of: envelope),
            sender: envelope.sender,
            deadline: envelope.deadline,
            // An instrument of the interceptor, or the interceptor itself, may have continued the trace.
            trace: TraceContext.current?.bytes ?? envelope.trace,
            isOneWay: isOneWay,
            isOfPool: isOfPool,
            flow: flow,
            delivery: delivery,
            lingers: lingers
        )
        if let flow, let outer = envelope.flow { outer.relayGrants(to: flow) }
        let answer = try await continuation.delivered(in: cell.openAsks, by: dispatch)
        guard flow != nil else { return answer }
        if case .none = answer { return last.reply ?? .none }
        // A single answer, though the asker accepts several: the interceptor may still change it.
        return answer
    }
}
