/// A row whose body doesn't suspend: it may run in the asker's task.
///
/// The order of messages is kept, because no other message waits or is handled while asks are on their way, and an executor runs the jobs
/// of one priority in order; and without a suspension there is nothing that a deadline could cancel.
class DirectRow<M: ResponderMessage>: AnyDirectRow, @unchecked Sendable {
    /// Runs the body; on the executor of its coordinator, unless the row is inline.
    func run(_ message: M, on instance: any Coordinator) throws -> M.Reply { throw DirectRowRefusal() }
}

/// The base of direct rows; unchecked, but immutable, like its subclasses.
class AnyDirectRow: @unchecked Sendable {
    /// Whether the row doesn't need the coordinator's executor, nor a place at its mailbox.
    final let isInline: Bool

    init(isInline: Bool) { self.isInline = isInline }
}

/// A direct row that knows its coordinator's type.
final class TypedDirectRow<C: Coordinator, M: ResponderMessage>: DirectRow<M>, @unchecked Sendable {
    typealias Body = @Sendable (C, M) throws -> M.Reply

    private let body: Body

    init(inline body: @escaping Body) {
        self.body = body
        super.init(isInline: true)
    }

    init(_ body: @escaping @Sendable (isolated C, M) throws -> M.Reply) {
        // Unsafe: the types differ in what the compiler checks, and in nothing else. The body is called on the executor of its coordinator.
        self.body = unsafeBitCast(body, to: Body.self)
        super.init(isInline: false)
    }

    override func run(_ message: M, on instance: any Coordinator) throws -> M.Reply {
        // Rows are called only for coordinators of their table.
        try body(unsafeDowncast(instance, to: C.self), message)
    }
}
