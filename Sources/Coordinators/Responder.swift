/// One row of a coordinator's table: what it answers, intercepts or observes.
///
///     static let responders: [Responder<AppCoordinator>] = [
///         .respond(to: Account.Login.self) { me, login in try await me.accounts.verify(login) },
///         .intercept(Cart.Add.self) { me, add, chain in … },
///         .lifecycle { me, child, change in … },
///     ]
///
/// A body runs isolated to the coordinator. Bodies begin in the order in which their messages were sent, and interleave where they
/// await: a parent that is asked by its child may ask the child back.
public struct Responder<C: Coordinator>: Sendable {
    let row: Row

    /// Answers a message; the chain ends here.
    ///
    /// What the body throws reaches the asker: as thrown if it's Codable, else as `RemoteError`. Disfavoured among the overloads, so that a
    /// body that only throws is no ambiguity where the message has no reply.
    @_disfavoredOverload
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        _ body: @escaping @Sendable (isolated C, M) async throws -> M.Reply
    ) -> Responder {
        respond(to: message) { me, message, _ in try await body(me, message) }
    }

    /// Answers a message that has no reply.
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        _ body: @escaping @Sendable (isolated C, M) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        respond(to: message) { me, message, _ in
            try await body(me, message)
            return NoReply()
        }
    }

    /// Answers a message, knowing who sent it and until when.
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        _ body: @escaping @Sendable (isolated C, M, MessageContext) async throws -> M.Reply
    ) -> Responder {
        Responder(
            row: .message(
                MessageRow(M.self, isInterceptor: false) { coordinator, envelope, _ in
                    let message = try envelope.message(as: M.self)
                    guard let me = coordinator as? C else { throw MessageRow.mismatch(coordinator, C.self) }
                    return .value(try await body(me, message, MessageContext(envelope)))
                }
            )
        )
    }

    /// Sees a message pass: it may change it, answer it, or let it climb on with `chain.next` and see the reply come back.
    public static func intercept<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (isolated C, M, Chain<M>) async throws -> M.Reply
    ) -> Responder {
        Responder(
            row: .message(
                MessageRow(M.self, isInterceptor: true) { coordinator, envelope, node in
                    let message = try envelope.message(as: M.self)
                    guard let me = coordinator as? C else { throw MessageRow.mismatch(coordinator, C.self) }
                    return .value(try await body(me, message, Chain(node: node, envelope: envelope)))
                }
            )
        )
    }

    /// Hears of what happens to the children, each change once.
    ///
    /// What the coordinator has asked for itself it learns by return instead.
    public static func lifecycle(
        _ body: @escaping @Sendable (isolated C, AnyChild, LifecycleChange) async -> Void
    ) -> Responder {
        Responder(
            row: .lifecycle { coordinator, child, change in
                guard let me = coordinator as? C else { return }
                await body(me, child, change)
            }
        )
    }
}

/// What comes with a message.
public struct MessageContext: Sendable {
    /// The coordinator that asked first.
    public let sender: CoordinatorPath
    /// How much of the asker's time remains; `nil`: no deadline.
    public let remainingTime: Duration?

    init(_ envelope: Envelope) {
        sender = envelope.sender
        remainingTime = envelope.deadline.map { max($0 - .now, .zero) }
    }
}

/// The rest of the chain, as an interceptor sees it.
public struct Chain<M: ResponderMessage>: Sendable {
    let node: Node
    let envelope: Envelope

    /// What came with the message.
    public var context: MessageContext { MessageContext(envelope) }

    /// Lets the message climb on, from the parent, and waits for the reply.
    ///
    /// - Throws: `unhandled` when nobody further up responds; whatever the responder threw.
    public func next(_ message: M) async throws -> M.Reply {
        let onward = Envelope(
            .value(message),
            sender: envelope.sender,
            deadline: envelope.deadline,
            trace: envelope.trace,
            isOneWay: envelope.isOneWay
        )
        let answer = try await onward.delivered(owner: node.openAsks) { node.climbOn($0) }
        if case .none = answer, let reply = NoReply() as? M.Reply { return reply }
        return try answer.decoded(as: M.Reply.self)
    }
}
