import ConcurrencySupport

/// An ask that runs in its asker's task.
struct DirectAsk {
    // Not retained, because its count of references would be shared by all askers: the asker keeps the coordinators above it, and each its rows.
    let row: Unmanaged<AnyDirectRow>
    let responder: Unmanaged<Node>
    /// The responder's coordinator, which has been claimed.
    let instance: any Coordinator

    /// Runs the row.
    ///
    /// - Parameter ask: The ask as the instruments know it; `nil` without instruments.
    /// - Throws: `DirectRowRefusal` when the coordinator doesn't accept messages any more; the error that the body throws.
    @inline(__always)
    func perform<M: ResponderMessage>(_ message: M, observed ask: ObservedAsk? = nil) async throws -> M.Reply {
        if row._withUnsafeGuaranteedRef({ $0.isInline }) { return try handle(message, ask) }
        let takesTurn = DirectTurn.isFor(#isolation)
        if takesTurn, !responder._withUnsafeGuaranteedRef({ $0.directTurn.takeIfFree() }) {
            await responder.takeUnretainedValue().directTurn.take()
        }
        defer { if takesTurn { responder._withUnsafeGuaranteedRef { $0.directTurn.giveUp() } } }
        return try await begin(message, ask, on: instance)
    }

    private func begin<M: ResponderMessage>(_ message: M, _ ask: ObservedAsk?, on instance: isolated any Coordinator) throws -> M.Reply {
        guard responder._withUnsafeGuaranteedRef({ $0.directAskBegins(Envelope.size(of: M.self)) }) else { throw DirectRowRefusal() }
        return try handle(message, ask)
    }

    private func handle<M: ResponderMessage>(_ message: M, _ ask: ObservedAsk?) throws -> M.Reply {
        try row._withUnsafeGuaranteedRef { row in
            // The row was found by the type of the message.
            let row = unsafeDowncast(row, to: DirectRow<M>.self)
            if let ask { return try ask.handle(message, at: responder.takeUnretainedValue()) { try row.run($0, on: instance) } }
            do {
                return try row.run(message, on: instance)
            } catch {
                throw Failures.thrownByHandler(error)
            }
        }
    }
}

/// What instruments know of an ask that runs in its asker's task.
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
