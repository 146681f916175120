/// One row of a coordinator's table: what it answers, intercepts or observes.
///
///     static let responders: [Responder<AppCoordinator>] = [
///         .respond(to: Account.Login.self, needs: \.accounts) { me, login, accounts in try await accounts.verify(login) },
///         .intercept(Cart.Add.self) { me, add, chain in … },
///         .observe(CartCoordinator.self) { me, child, event in … },
///         .lifecycle { me, child, change in … },
///     ]
///
/// A body runs isolated to the coordinator. Bodies begin in the order in which their messages were sent, and interleave where they
/// await: a parent that is asked by its child may ask the child back. The first row that matches gets a message.
public struct Responder<C: Coordinator>: Sendable {
    let row: Row
}

// MARK: - Answering

extension Responder {
    /// Answers a message at once; the chain ends here.
    ///
    /// A body that doesn't await is chosen for by itself, and may run in the asker's task: the fastest way to be answered.
    ///
    /// What the body throws reaches the asker: as thrown if it's Codable, else as `RemoteError`. No deadline ends a body that doesn't await.
    @_disfavoredOverload
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        _ body: @escaping @Sendable (isolated C, M) throws -> M.Reply
    ) -> Responder {
        var row = MessageRow(M.self, of: C.self) { me, message, _, _, _ in .value(try body(me, message)) }
        row.direct = TypedDirectRow<C, M>(body)
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply at once.
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        _ body: @escaping @Sendable (isolated C, M) throws -> Void
    ) -> Responder where M.Reply == NoReply {
        respond(to: message) { me, message throws -> NoReply in
            try body(me, message)
            return NoReply()
        }
    }

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
    @_disfavoredOverload
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        _ body: @escaping @Sendable (isolated C, M, MessageContext) async throws -> M.Reply
    ) -> Responder {
        let row = MessageRow(M.self, of: C.self) { me, message, envelope, _, _ in
            .value(try await body(me, message, MessageContext(envelope)))
        }
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply, knowing who sent it and until when.
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        _ body: @escaping @Sendable (isolated C, M, MessageContext) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        respond(to: message) { me, message, context -> NoReply in
            try await body(me, message, context)
            return NoReply()
        }
    }

    /// Answers a message with the help of a dependency.
    ///
    /// Until somebody at or above the coordinator has provided it the messages wait, in order, bounded and until their deadlines.
    @_disfavoredOverload
    public static func respond<M: ResponderMessage, Value: Sendable>(
        to message: M.Type,
        needs dependency: any KeyPath<Dependencies, Value?> & Sendable,
        _ body: @escaping @Sendable (isolated C, M, Value) async throws -> M.Reply
    ) -> Responder {
        let row = MessageRow(M.self, of: C.self, needs: MessageRow.Needs(dependency)) { me, message, _, node, _ in
            .value(try await body(me, message, try node.dependencies.required(dependency)))
        }
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply with the help of a dependency.
    public static func respond<M: ResponderMessage, Value: Sendable>(
        to message: M.Type,
        needs dependency: any KeyPath<Dependencies, Value?> & Sendable,
        _ body: @escaping @Sendable (isolated C, M, Value) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        let row = MessageRow(M.self, of: C.self, needs: MessageRow.Needs(dependency)) { me, message, _, node, _ in
            try await body(me, message, try node.dependencies.required(dependency))
            return .value(NoReply())
        }
        return Responder(row: .message(row))
    }

    /// Answers a message more than once: what is known already, then what is fresh.
    ///
    /// The stream ends when the body returns or throws. Who asked with `ask` gets the first reply, and the body is cancelled.
    public static func stream<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (isolated C, M, Replies<M>) async throws -> Void
    ) -> Responder {
        let row = MessageRow(M.self, of: C.self) { me, message, envelope, _, _ in
            try await body(me, message, Replies(envelope: envelope))
            return try envelope.endOfReplies()
        }
        return Responder(row: .message(row))
    }
}

// MARK: - Intercepting

extension Responder {
    /// Sees a message pass: it may change it, answer it, or let it climb on with `chain.next` and see the reply come back.
    ///
    /// Of a stream it sees the request; the replies pass it by, `chain.next` returns the last of them, and what the body returns counts
    /// only if it hasn't let the message climb.
    @_disfavoredOverload
    public static func intercept<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (isolated C, M, Chain<M>) async throws -> M.Reply
    ) -> Responder {
        let row = MessageRow(M.self, of: C.self, isInterceptor: true) { me, message, envelope, node, index in
            let chain = Chain<M>(onward: Onward(node: node, envelope: envelope, index: index))
            let reply = try await body(me, message, chain)
            return envelope.hasReplied ? .none : .value(reply)
        }
        return Responder(row: .message(row))
    }

    /// Sees a message pass that has no reply.
    public static func intercept<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (isolated C, M, Chain<M>) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        intercept(message) { me, message, chain -> NoReply in
            try await body(me, message, chain)
            return NoReply()
        }
    }

    /// Sees every message pass whose name begins so, for audit and authorisation.
    ///
    ///     .intercept(prefix: "Cart.") { me, message, chain in
    ///         me.seen.append(message.name)
    ///         return try await chain.next()
    ///     }
    public static func intercept(
        prefix: String,
        _ body: @escaping @Sendable (isolated C, AnyMessage, AnyChain) async throws -> AnyReply
    ) -> Responder {
        let row = MessageRow(.prefix(prefix), isInterceptor: true) { coordinator, envelope, node, index in
            let me: C = try MessageRow.cast(coordinator)
            let chain = AnyChain(onward: Onward(node: node, envelope: envelope, index: index))
            let reply = try await body(me, AnyMessage(envelope: envelope), chain)
            return envelope.hasReplied ? .none : reply.answer
        }
        return Responder(row: .message(row))
    }
}

// MARK: - Observing children

extension Responder {
    /// Hears what children of a type tell their delegates.
    ///
    /// The coordinator observes a child before it starts, so that nothing is missed. At most 1,024 events wait; then the oldest goes to the
    /// dead letters.
    public static func observe<K: Coordinator>(
        _ child: K.Type,
        _ body: @escaping @Sendable (isolated C, Child<K>, K.Event) async -> Void
    ) -> Responder {
        Responder(
            row: .observe(TypeNames.name(of: child)) { coordinator, child, event in
                let me: C = try MessageRow.cast(coordinator)
                await body(me, Child(supervisor: child.supervisor, key: child.key), try event.decoded(as: K.Event.self))
            }
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

    /// Decides about a child that would like to be dismissed.
    ///
    /// Without this row the child is dismissed.
    public static func dismissal(
        _ body: @escaping @Sendable (isolated C, AnyChild) async -> DismissalDecision
    ) -> Responder {
        Responder(
            row: .dismissal { coordinator, child in
                guard let me = coordinator as? C else { return .refuse }
                return await body(me, child)
            }
        )
    }
}

/// What becomes of a child's request to be dismissed.
public enum DismissalDecision: Sendable, Hashable {
    /// It's stopped and removed.
    case dismiss
    /// It stays.
    case refuse
    /// This coordinator asks its own parent to be dismissed, the child with it.
    case forward
}
