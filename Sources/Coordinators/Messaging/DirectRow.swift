import ConcurrencySupport

/// A row whose body doesn't suspend: it may run in the asker's task.
///
/// The order of messages is kept, because no other message waits or is handled while asks are on their way, and an executor runs the jobs
/// of one priority in order; and without a suspension there is nothing that a deadline could cancel.
class DirectRow<M: ResponderMessage>: AnyDirectRow, @unchecked Sendable {
    /// Runs the body on its coordinator.
    ///
    /// - Throws: `DirectRowRefusal` when the coordinator doesn't accept messages any more; the error that the body throws.
    func run(_ message: M, on instance: any Coordinator, of node: Node) async throws -> M.Reply { throw DirectRowRefusal() }

    /// Runs the body on its coordinator, within the instruments of the process.
    func run(_ message: M, on instance: any Coordinator, of node: Node, observed ask: ObservedAsk) async throws -> M.Reply {
        throw DirectRowRefusal()
    }
}

/// An ask that runs in its asker's task, and that instruments observe.
struct ObservedAsk {
    let sender: CoordinatorPath
    /// The time at which the coordinator was asked.
    let began = MonotonicTime.now

    init(from sender: CoordinatorPath) { self.sender = sender }

    /// Handles the message within the instruments.
    func handle<M: ResponderMessage>(_ message: M, at node: Node, by body: (M) throws -> M.Reply) throws -> M.Reply {
        let info = MessageInfo(M.self, from: sender, since: began, handledBy: node)
        do {
            return try node.runtime.instruments.aroundAtOnce(info) { try body(message) }
        } catch {
            throw Failures.thrownByHandler(error)
        }
    }
}

/// The refusal of a coordinator that doesn't accept messages any more.
///
/// An error, because an optional answer of a type that only the program knows costs a look-up of that optional's type.
struct DirectRowRefusal: Error {}

/// The base of direct rows; unchecked, but immutable, like its subclasses.
class AnyDirectRow: @unchecked Sendable {
    /// Whether the row doesn't need the coordinator's executor, nor a place at its mailbox.
    final let isInline: Bool

    init(isInline: Bool = false) { self.isInline = isInline }
}

/// An inline row that knows its coordinator's type; it doesn't need the coordinator's executor.
final class TypedInlineRow<C: Coordinator, M: ResponderMessage>: DirectRow<M>, @unchecked Sendable {
    private let body: @Sendable (C, M) throws -> M.Reply

    init(_ body: @escaping @Sendable (C, M) throws -> M.Reply) {
        self.body = body
        super.init(isInline: true)
    }

    override func run(_ message: M, on instance: any Coordinator, of node: Node) async throws -> M.Reply {
        do {
            // Rows are called only for coordinators of their table.
            return try body(unsafeDowncast(instance, to: C.self), message)
        } catch {
            throw Failures.thrownByHandler(error)
        }
    }

    override func run(_ message: M, on instance: any Coordinator, of node: Node, observed ask: ObservedAsk) async throws -> M.Reply {
        // Rows are called only for coordinators of their table.
        try ask.handle(message, at: node) { try body(unsafeDowncast(instance, to: C.self), $0) }
    }
}

/// A direct row that knows its coordinator's type.
final class TypedDirectRow<C: Coordinator, M: ResponderMessage>: DirectRow<M>, @unchecked Sendable {
    typealias Body = @Sendable (isolated C, M) throws -> M.Reply

    private let body: Body

    init(_ body: @escaping Body) {
        self.body = body
        super.init()
    }

    override func run(_ message: M, on instance: any Coordinator, of node: Node) async throws -> M.Reply {
        // Rows are called only for coordinators of their table.
        let me = unsafeDowncast(instance, to: C.self)
        guard DirectTurn.isFor(#isolation) else { return try await perform(message, me, node) }
        if !node.directTurn.takeIfFree() { await node.directTurn.take() }
        defer { node.directTurn.giveUp() }
        return try await perform(message, me, node)
    }

    override func run(_ message: M, on instance: any Coordinator, of node: Node, observed ask: ObservedAsk) async throws -> M.Reply {
        // Rows are called only for coordinators of their table.
        let me = unsafeDowncast(instance, to: C.self)
        guard DirectTurn.isFor(#isolation) else { return try await perform(message, me, node, observed: ask) }
        if !node.directTurn.takeIfFree() { await node.directTurn.take() }
        defer { node.directTurn.giveUp() }
        return try await perform(message, me, node, observed: ask)
    }

    private func perform(_ message: M, _ me: isolated C, _ node: Node, observed ask: ObservedAsk) throws -> M.Reply {
        guard node.directAskBegins(Envelope.size(of: M.self)) else { throw DirectRowRefusal() }
        return try ask.handle(message, at: node) { try body(me, $0) }
    }

    private func perform(_ message: M, _ me: isolated C, _ node: Node) throws -> M.Reply {
        guard node.directAskBegins(Envelope.size(of: M.self)) else { throw DirectRowRefusal() }
        do {
            return try body(me, message)
        } catch {
            throw Failures.thrownByHandler(error)
        }
    }
}
