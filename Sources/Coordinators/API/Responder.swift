/// One row of a coordinator's table, which answers or intercepts messages, or observes children.
///
///     static let responders: Responders = [
///         .respond(to: Account.Login.self, needs: \.accounts) { me, login, accounts in try await accounts.verify(login) },
///         .intercept(Cart.Add.self) { me, add, chain in … },
///         .observe(CartCoordinator.self) { me, child, event in … },
///         .lifecycle { me, child, change in … },
///     ]
///
/// A body runs isolated to the coordinator, unless its row is inline. Bodies begin in the order in which their messages were sent, and
/// interleave where they await: a parent that is asked by its child may ask the child back. The first row that matches gets a message.
///
/// In a coordinator whose `MailboxPolicy` lets one handler run at a time, bodies don't interleave, except those of rows that say
/// `interleaves: true`: they begin though others run, and others begin though they run.
public struct Responder<C: Coordinator>: Sendable {
    let row: Row
}

// MARK: - Answering

extension Responder {
    /// Answers a message at once; the chain ends here.
    ///
    /// A body that doesn't await selects this overload, and may run in the asker's task, which is the fastest way to answer.
    ///
    /// The asker gets the error that the body throws as it was thrown if the message declares it as its `Failure`, or if it's Codable and the
    /// asker's program has the same type, and else a `RemoteError`. No deadline ends a body that doesn't await.
    ///
    /// - Parameters:
    ///   - message: The type of the messages.
    ///   - interleaves: Whether the body begins though as many handlers run as the coordinator's `MailboxPolicy` allows, and others begin
    ///     though it runs; it may overtake earlier messages, and be overtaken.
    ///   - body: A function that answers a message.
    @_disfavoredOverload
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M) throws -> M.Reply
    ) -> Responder {
        Responder(row: .message(MessageRow(interleaves: interleaves, body)))
    }

    /// Answers a message that has no reply at once.
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M) throws -> Void
    ) -> Responder where M.Reply == NoReply {
        respond(to: message, interleaves: interleaves) { me, message throws -> NoReply in
            try body(me, message)
            return NoReply()
        }
    }

    /// Answers a message; the chain ends here.
    ///
    /// The asker gets the error that the body throws, as with a body that doesn't await. This overload is disfavoured, so that a body that
    /// only throws is not ambiguous where the message has no reply.
    @_disfavoredOverload
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M) async throws -> M.Reply
    ) -> Responder {
        respond(to: message, interleaves: interleaves) { me, message, _ in try await body(me, message) }
    }

    /// Answers a message that has no reply.
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        respond(to: message, interleaves: interleaves) { me, message, _ in
            try await body(me, message)
            return NoReply()
        }
    }

    /// Answers a message with the help of its sender, remaining time and trace.
    @_disfavoredOverload
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, MessageContext) async throws -> M.Reply
    ) -> Responder {
        let row = MessageRow(M.self, of: C.self, interleaves: interleaves) { me, message, envelope, cell, _ in
            .value(try await body(me, message, MessageContext(envelope, cell.runtime.time)))
        }
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply, with the help of its sender, remaining time and trace.
    public static func respond<M: ResponderMessage>(
        to message: M.Type,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, MessageContext) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        respond(to: message, interleaves: interleaves) { me, message, context -> NoReply in
            try await body(me, message, context)
            return NoReply()
        }
    }

    /// Answers a message with several replies: the values that are known already, then each new one.
    ///
    /// The stream ends when the body returns or throws. An asker that uses `ask` gets the first reply, and the body is cancelled.
    ///
    /// The row interleaves: a body that lives as long as its reader holds back no message, not even of a serial coordinator.
    public static func stream<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (isolated C, M, Replies<M>) async throws -> Void
    ) -> Responder {
        let row = MessageRow(M.self, of: C.self, interleaves: true) { me, message, envelope, cell, _ in
            try await body(me, message, Replies(envelope: envelope, time: cell.runtime.time))
            return try envelope.endOfReplies()
        }
        return Responder(row: .message(row))
    }
}

// MARK: - Answering inline

extension Responder {
    /// Answers a message on the thread that delivers it, without the coordinator's executor: the fastest way to answer another process.
    ///
    ///     actor PriceCoordinator: Coordinator {
    ///         nonisolated let prices = Mutex<[String: Int]>([:])
    ///         static let responders: Responders = [
    ///             .inline(Prices.Quote.self) { me, quote in try me.prices.withLock { try price(of: quote, in: $0) } },
    ///         ]
    ///     }
    ///
    /// The body isn't isolated to the coordinator: it may use what is `nonisolated` and Sendable, such as constants, atomics and values
    /// behind a mutex, and runs at the same time as other bodies of the coordinator, itself included.
    ///
    /// The body must neither block nor take long: for a message from another process it runs on the thread that reads the link, and until
    /// it returns no other message, reply or sign of life of that link is read. A body that holds up a link for more than ten milliseconds is logged
    /// once. No deadline and no cancellation ends it.
    ///
    /// A message for an inline row waits for no other: it takes no room in the mailbox, and may overtake earlier messages of the same
    /// sender for other rows. Messages for inline rows keep their order among one another. While the coordinator starts or is paused, they
    /// wait in the mailbox.
    @_disfavoredOverload
    public static func inline<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (C, M) throws -> M.Reply
    ) -> Responder {
        Responder(row: .message(MessageRow(inline: body)))
    }

    /// Takes a message that has no reply on the thread that delivers it, without the coordinator's executor.
    public static func inline<M: ResponderMessage>(
        _ message: M.Type,
        _ body: @escaping @Sendable (C, M) throws -> Void
    ) -> Responder where M.Reply == NoReply {
        inline(message) { me, message throws -> NoReply in
            try body(me, message)
            return NoReply()
        }
    }
}

// MARK: - Intercepting

extension Responder {
    /// Intercepts a message: the body may change it, answer it, or let it climb with `chain.next` and see the reply.
    ///
    /// Of a stream the body sees the request; the replies don't pass through it. `chain.next` returns the last of them, and the body's
    /// result counts only if it hasn't let the message climb.
    @_disfavoredOverload
    public static func intercept<M: ResponderMessage>(
        _ message: M.Type,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, Chain<M>) async throws -> M.Reply
    ) -> Responder {
        let row = MessageRow(M.self, of: C.self, isInterceptor: true, interleaves: interleaves) { me, message, envelope, cell, index in
            let chain = Chain<M>(continuation: ChainContinuation(cell: cell, envelope: envelope, index: index))
            let reply = try await body(me, message, chain)
            return envelope.hasReplied ? .none : .value(reply)
        }
        return Responder(row: .message(row))
    }

    /// Intercepts a message that has no reply.
    public static func intercept<M: ResponderMessage>(
        _ message: M.Type,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, Chain<M>) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        intercept(message, interleaves: interleaves) { me, message, chain -> NoReply in
            try await body(me, message, chain)
            return NoReply()
        }
    }

    /// Intercepts every message whose name begins with the components of the prefix, for audit and authorisation.
    ///
    ///     .intercept(prefix: "Cart.") { me, message, chain in
    ///         me.seen.append(message.name)
    ///         return try await chain.next()
    ///     }
    public static func intercept(
        prefix: String,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, AnyMessage, AnyChain) async throws -> AnyReply
    ) -> Responder {
        let row = MessageRow(.prefix(prefix), isInterceptor: true, interleaves: interleaves) { coordinator, envelope, receiver, index in
            let cell = CoordinatorCell.of(receiver)
            let me: C = try MessageRow.cast(coordinator)
            let chain = AnyChain(continuation: ChainContinuation(cell: cell, envelope: envelope, index: index))
            let reply = try await body(me, AnyMessage(envelope: envelope, time: cell.runtime.time), chain)
            return envelope.hasReplied ? .none : reply.answer
        }
        return Responder(row: .message(row))
    }
}

// MARK: - Forwarding

extension Responder {
    /// Hands messages of a type on to a child, as they are; the row with a prefix describes how.
    ///
    /// - Parameters:
    ///   - message: The type of the messages.
    ///   - child: The key of the child.
    public static func forward<M: ResponderMessage>(_ message: M.Type, to child: C.ChildKey) -> Responder {
        Responder(row: .message(MessageRow(.type(M.self), forwardingTo: .key(child.description))))
    }

    /// Hands messages of a type on to the child whose key each of them tells, as they are: one of many of a kind.
    ///
    ///     .forward(Orders.Approve.self) { approval in "\(approval.order)" }
    ///
    /// - Parameters:
    ///   - message: The type of the messages.
    ///   - child: A function that returns the key of the child; the asker gets the error that it throws.
    public static func forward<M: ResponderMessage>(_ message: M.Type, to child: @escaping @Sendable (M) throws -> C.ChildKey) -> Responder
    {
        let target = ForwardTarget.computed { try child($0.message(as: M.self)).description }
        return Responder(row: .message(MessageRow(.type(M.self), forwardingTo: target)))
    }

    /// Hands every message of a type on to the first child of a type.
    ///
    /// The message is handed on as by the row with a key. Without such a child the ask fails with `noSuchChild`.
    public static func forward<M: ResponderMessage, K: Coordinator>(_ message: M.Type, to child: K.Type) -> Responder {
        Responder(row: .message(MessageRow(.type(M.self), forwardingTo: .type(name: TypeNames.name(of: child)))))
    }

    /// Hands every message whose name begins with the prefix on to a child, as it is.
    ///
    ///     .forward(prefix: "Cart", to: .cart)
    ///
    /// A prefix is whole components of a name, with or without the dot after them: this row hands on `Cart.Add`, and not `Cartography.Draw`.
    ///
    /// The message keeps its sender, deadline, trace and one-way form, a stream its replies, and the asker's cancellation ends the child's
    /// handler. Nothing of this coordinator runs, and the message takes no room in its mailbox. While this coordinator is paused, the
    /// message waits there.
    ///
    /// Only the child's own rows are searched. A message for which it has none fails with `unhandled`, also if it came from the child.
    /// Messages that this coordinator answers itself need rows before this one.
    ///
    /// A child that doesn't live is opened by ``Coordinator/open(section:)``, once for all messages that arrive meanwhile: these wait, bounded and
    /// until their deadlines, and are delivered in order. The default of that hook throws `noSuchChild`, which the asker gets. A child that
    /// is being restarted gets the message when it's ready.
    ///
    /// - Parameters:
    ///   - prefix: The first components of the messages' names.
    ///   - child: The key of the child.
    public static func forward(prefix: String, to child: C.ChildKey) -> Responder {
        Responder(row: .message(MessageRow(.prefix(prefix), forwardingTo: .key(child.description))))
    }

    /// Hands every message whose name begins with the prefix on to the first child of a type.
    ///
    /// The message is handed on as by the row with a key. Without such a child the ask fails with `noSuchChild`.
    public static func forward<K: Coordinator>(prefix: String, to child: K.Type) -> Responder {
        Responder(row: .message(MessageRow(.prefix(prefix), forwardingTo: .type(name: TypeNames.name(of: child)))))
    }
}

// MARK: - Observing children

extension Responder {
    /// Observes the events that children of a type send to their delegates.
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

    /// Observes the changes of the children, each change once.
    ///
    /// Changes that the coordinator has requested itself are not observed; the request's own call returns instead.
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

    /// Decides about a child that asks to be dismissed.
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
