import ConcurrencySupport
public import Logging

/// What a base class would have been: a coordinator's handle on its parent, its children and the runtime.
public struct Context<C: Coordinator>: Sendable {
    let node: Node

    /// The coordinator's place in the tree.
    public var path: CoordinatorPath { node.path }

    /// Counts the coordinator's lives, from 1.
    public var incarnation: UInt32 { node.incarnation }

    /// A logger that says which coordinator is speaking.
    public var logger: Logger { node.logger }

    // MARK: The chain

    /// Asks: the message climbs from the coordinator's own rows up the tree, across processes, until somebody responds.
    ///
    /// Messages of one sender to one receiver begin in the order in which they were sent. Cancelling the asking task cancels the handler.
    /// After `peerLost` nothing is retried, unless the message type declares itself idempotent.
    ///
    /// - Parameter timeout: after it the handler is cancelled and the ask fails with `timedOut`. A row that doesn't await, of an idle
    ///   coordinator in this process, runs in this task instead: the ask returns when it does, however long that takes.
    /// - Throws: `CoordinatorError` with `unhandled` at once when nobody responds, `timedOut`, `peerLost`, `stopped`, `restarting`,
    ///   `mailboxFull`, `tooManyOpenAsks`, `messageTooLarge`, `coding`; what the handler threw, or `RemoteError` if that can't cross;
    ///   `CancellationError`.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration = .seconds(5)) async throws -> M.Reply {
        if let (row, instance, responder) = node.directRow(for: M.self) {
            // In this task: cancelling it cancels nothing that could be cancelled.
            if let reply = try await row.run(message, on: instance, of: responder) { return reply }
        }
        return try await M.retried(within: timeout) { remaining in
            try await node.ask(.value(message), timeout: remaining, isOneWay: false).decoded(as: M.Reply.self)
        }
    }

    /// Asks what has no reply, and returns when the handler has ended.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration = .seconds(5)) async throws where M.Reply == NoReply {
        let _: NoReply = try await ask(message, timeout: timeout)
    }

    /// Sends one way: like `ask`, but nobody waits for the handler.
    ///
    /// Waits while the responder's mailbox is full, or does what its policy says. Cancelling the task withdraws a message that still waits.
    ///
    /// - Returns: whether somebody responds; a handler that fails later is counted among the dead letters.
    /// - Throws: as `ask`, without what the handler throws and `timedOut`.
    @discardableResult
    public func send<M: ResponderMessage>(_ message: M) async throws -> Bool {
        do {
            _ = try await node.ask(.value(message), timeout: nil, isOneWay: true)
            return true
        } catch let error as CoordinatorError where error.code == .unhandled {
            return false
        }
    }

    /// Asks for replies that may be several: what is known already, then what is fresh.
    ///
    /// - Parameter timeout: after it the stream ends with `timedOut`; none by default.
    public func stream<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) -> ReplyStream<M.Reply> {
        ReplyStream(buffer: ReplyBuffer(.value(message), sender: node, deadline: timeout.map { .now + $0 }) { node.climb($0) })
    }

    /// Begins a task that belongs to the coordinator: it's cancelled when the coordinator stops, which waits for it within the grace.
    ///
    /// An error that it throws is logged.
    public func task(_ operation: @escaping @Sendable () async throws -> Void) {
        let node = node
        let id = node.noteHandler()
        let task = Task {
            do {
                try await operation()
            } catch {
                if !Task.isCancelled { node.logger.warning("a task of the coordinator failed", metadata: ["error": "\(error)"]) }
            }
            node.handlerEnded(id)
        }
        node.own(task, as: id)
    }

    // MARK: The coordinator's own end

    /// Finishes: the parent takes the output, and this coordinator is stopped and removed, whatever its restart type.
    ///
    /// Returns at once; it never waits for its own stop. The second call does nothing.
    public func finish(_ output: C.Output) {
        node.end(.finished(.value(output)))
    }

    /// Finishes without an output.
    public func finish() where C.Output == NoOutput {
        finish(NoOutput())
    }

    /// Asks the parent to dismiss this coordinator.
    ///
    /// The parent's `.dismissal` row decides; without one it's dismissed.
    ///
    /// - Returns: true if the parent stops this coordinator now; false if it refused, or gave no answer in time: it stays active.
    @discardableResult
    public func requestDismissal(timeout: Duration = .seconds(5)) async -> Bool {
        await node.requestDismissal(timeout: timeout)
    }

    /// Fails: supervision decides what follows, as if `run` had thrown this.
    public func fail(_ error: any Error) {
        node.end(.failed(.failed(String(describing: error))))
    }
}
