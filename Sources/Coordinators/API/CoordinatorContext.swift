import ConcurrencySupport
public import Logging
package import Supervision

/// A coordinator's handle on its parent, its children and the runtime.
public struct CoordinatorContext<C: Coordinator>: Sendable {
    let cell: CoordinatorCell

    init(cell: CoordinatorCell) { self.cell = cell }

    init(of receiver: any MessageReceiver) { cell = .of(receiver) }

    /// The coordinator's place in the tree.
    public var path: CoordinatorPath { cell.path }

    /// The number of the coordinator's incarnation, counted from 1.
    public var incarnation: UInt32 { cell.incarnation }

    /// The coordinator's present configuration: the one that it was started with, or that its parent has changed it to since.
    public var configuration: C.Configuration { cell.configuration(of: C.Configuration.self).value }

    /// The fencing token of the cluster's subtree to which the coordinator belongs: the epoch under which this node owns it; `nil` elsewhere.
    ///
    /// Each owner of a subtree has a higher epoch than the one before, on whatever node. Write it with what you write, and have the receiver
    /// refuse an epoch that is lower than one that it has seen: a node that was stopped or cut off can't write over its successor's work then.
    /// It doesn't change as long as the process lives.
    public var fence: UInt64? { cell.runtime.links.uplink == nil ? nil : WorkerEnvironment.fence }

    /// A logger whose metadata names the coordinator.
    public var logger: Logger { cell.logger }

    // MARK: The chain

    /// Asks a question: the message climbs from the coordinator's own rows up the tree, across processes, until a coordinator responds.
    ///
    /// Messages of one sender to one receiver begin in the order in which they were sent. Cancelling the asking task cancels the handler.
    /// What is retried, and whether equal asks share one, is for the message's type to say.
    ///
    /// - Parameters:
    ///   - message: The message that is asked.
    ///   - timeout: The time after which the handler is cancelled and the ask fails with `timedOut`; `nil`: the type's
    ///     ``ResponderMessage/timeout``. Within the handler of an ask it's at most what remains until that ask's deadline. A row that
    ///     doesn't await, of an idle coordinator in this process, runs in the asking task instead: the ask then returns when the row does,
    ///     however long that takes.
    /// - Throws: A `CoordinatorError` with `unhandled` at once when no coordinator responds, `timedOut`, `peerLost`, `stopped`,
    ///   `draining`, `restarting`, `mailboxFull`, `tooManyOpenAsks`, `messageTooLarge`, `coding`; the error that the handler threw, or a `RemoteError`
    ///   if that can't cross processes; `CancellationError`.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) async throws -> M.Reply {
        #if !SLOW_PATH_ONLY
        return try await shortcutAsk(message, timeout)
        #else
        guard cell.runtime.observation.instruments.areActive else { return try await queuedAsk(message, timeout) }
        return try await cell.runtime.observation.instruments.around(MessageInfo(M.self, .ask, sentBy: cell)) {
            try await queuedAsk(message, timeout)
        }
        #endif
    }

    /// Asks by a message that takes the whole way.
    @inline(__always)
    func queuedAsk<M: ResponderMessage>(_ message: M, _ timeout: Duration?) async throws -> M.Reply {
        try await M.retried(within: timeout, cell.runtime.time) { deadline in
            if M.coalesces {
                return try await cell.askTogether(message, by: deadline) { [cell] in
                    try await cell.ask(.value(message), by: deadline, isOneWay: false)
                }
            }
            return try await cell.ask(.value(message), by: deadline, isOneWay: false).decoded(as: M.Reply.self)
        }
    }

    /// Asks a message without a reply, and returns when the handler has ended.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) async throws where M.Reply == NoReply {
        let _: NoReply = try await ask(message, timeout: timeout)
    }

    /// Sends a message one way: like `ask`, but without waiting for the handler.
    ///
    /// Waits while the responder's mailbox is full, or does what the mailbox's policy says. A message to a coordinator in another process,
    /// which no interceptor there sees first, doesn't wait for the mailbox: the call returns once the message is in the batch that leaves
    /// next, and waits only for credit; what the mailbox refuses is a dead letter. Cancelling the task withdraws a message that still waits.
    ///
    /// An acknowledged message is handled once as long as the responder's incarnation lives, over lost links and relaying processes: it's
    /// transmitted again until the answer comes, and what was handled isn't handled again. The call returns when the handler has ended;
    /// until then, cancelling the task cancels the handler. See <doc:RuntimeSemantics>.
    ///
    /// - Parameters:
    ///   - message: The message that is sent.
    ///   - acknowledged: Whether the call returns when the message has been handled, rather than when it was accepted.
    ///   - timeout: The time after which a message that still waits is withdrawn, and the call fails with `timedOut`; `nil`: none. The
    ///     deadline of a message that is handled doesn't count: what is sent one way outlives its sender's handler. The handler of an
    ///     acknowledged message is cancelled then.
    /// - Returns: Whether a coordinator responds, which is known without leaving the process. A handler that fails later is counted among
    ///   the dead letters. Of an acknowledged message: whether it was handled; false: no coordinator responds.
    /// - Throws: As `ask`, without the handler's errors. Of an acknowledged message the handler's error too, and `peerLost` with
    ///   ``CoordinatorError/maybeExecuted`` when the responder's incarnation has ended and may have handled the message.
    @discardableResult
    public func send<M: ResponderMessage>(_ message: M, acknowledged: Bool = false, timeout: Duration? = nil) async throws -> Bool {
        if acknowledged || cell.runtime.observation.instruments.areActive {
            return try await sendOtherwise(message, acknowledged, timeout)
        }
        return try await sendUnobserved(message, timeout)
    }

    /// Sends a message that is acknowledged, or observed: apart, so that a task that waits with another one keeps no room for this.
    @inline(never)
    private func sendOtherwise<M: ResponderMessage>(_ message: M, _ isAcknowledged: Bool, _ timeout: Duration?) async throws -> Bool {
        func perform() async throws -> Bool {
            isAcknowledged ? try await sendAcknowledged(message, timeout) : try await sendUnobserved(message, timeout)
        }
        // They may end at any time.
        let instruments = cell.runtime.observation.instruments
        guard instruments.areActive else { return try await perform() }
        return try await instruments.around(MessageInfo(M.self, .send, sentBy: cell)) { try await perform() }
    }

    @inline(__always)
    private func sendUnobserved<M: ResponderMessage>(_ message: M, _ timeout: Duration?) async throws -> Bool {
        try Task.checkCancellation()
        #if !SLOW_PATH_ONLY
        if let isAccepted = try cell.sendUp(message) { return isAccepted }
        #endif
        let deadline = timeout.map { cell.runtime.time.now + $0 }
        #if !SLOW_PATH_ONLY
        if cell.sendsAtOnce(message, deadline: deadline) { return true }
        #endif
        let envelope = Envelope(.value(message), sender: path, deadline: deadline, isOneWay: true)
        return try await Envelope.isAccepted { try await envelope.delivered(in: cell.openAsks) { cell.climb($0) } }
    }

    private func sendAcknowledged<M: ResponderMessage>(_ message: M, _ timeout: Duration?) async throws -> Bool {
        let deadline = timeout.map { cell.runtime.time.now + $0 }
        return try await cell.runtime.sendAcknowledged(.value(message), from: path, by: deadline, in: cell.openAsks) { cell.climb($0) }
    }

    /// Asks for a stream of replies: the values that are known already, then each new one.
    ///
    /// - Parameters:
    ///   - message: The message whose replies are wanted.
    ///   - timeout: The time after which the stream ends with `timedOut`; none by default.
    public func stream<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) -> ReplyStream<M.Reply> {
        cell.stream(message, timeout) { cell.climb($0) }
    }

    // MARK: The coordinator's own end

    /// Finishes the coordinator: the parent takes the output, and this coordinator is stopped and removed, whatever its restart type.
    ///
    /// Returns at once, without waiting for the coordinator's own stop. A second call does nothing.
    public func finish(_ output: C.Output) {
        cell.end(.finished(.value(output)))
    }

    /// Finishes the coordinator without an output.
    public func finish() where C.Output == NoOutput {
        finish(NoOutput())
    }

    /// Asks the parent to dismiss this coordinator.
    ///
    /// The parent's `.dismissal` row decides; without such a row the coordinator is dismissed.
    ///
    /// - Returns: True if the parent stops this coordinator now; false if it refused, or gave no answer in time: the coordinator then stays
    ///   active.
    @discardableResult
    public func requestDismissal(timeout: Duration = .seconds(5)) async -> Bool {
        await cell.requestDismissal(timeout: timeout)
    }

    /// Makes the coordinator fail: supervision decides what follows, as if `run` had thrown the error.
    public func fail(_ error: any Error) {
        cell.end(.failed(.failed(String(describing: error))))
    }
}

// MARK: - Children of a configuration file

extension CoordinatorContext {
    /// Starts a coordinator in this process whose supervision is that of a configuration file.
    ///
    /// - Parameters:
    ///   - ifPresent: The way in which a child is treated that has the key already.
    ///   - configuration: The configuration, which isn't copied: a reference stays one.
    package func start<K: Coordinator>(
        local type: K.Type,
        as key: C.ChildKey,
        restart: RestartType,
        shutdown: Shutdown,
        restartLimits: RestartLimits?,
        ifPresent: IfPresent,
        with configuration: K.Configuration
    ) async throws {
        let specification = ChildSpecification(
            id: key.description,
            restart: restart,
            shutdown: shutdown,
            isRetriedAtFirstStart: true,
            restartLimits: restartLimits
        )
        let place = CoordinatorDefinition.Place.inProcess(.of(type))
        let kind = ChildDefinition.Kind.coordinator(CoordinatorDefinition(configuration: .value(configuration), place: place))
        try await cell.children.start(ChildDefinition(specification, kind), ifPresent: ifPresent)
    }

    /// Ends a child and its subtree, and keeps its key, as an operator's stop does; returns when nothing is left of it.
    ///
    /// - Throws: `noSuchChild`.
    package func stop(_ key: C.ChildKey) async throws {
        try await cell.children.stop(key.description, initiator: .parent, forgets: false)
    }

    /// Puts the children into this start order; those that aren't named come first.
    ///
    /// - Parameter others: The siblings that end after each child, by the child's key; children without an order end together.
    package func arrange(_ keys: [C.ChildKey], stoppingBefore others: [String: [String]]) {
        cell.existingChildren?.arrange(keys.map(\.description), stoppingBefore: others)
    }

    /// Waits until the health of a child's present life, a program, was checked with success.
    ///
    /// - Returns: False when there is no such life, or it has ended before.
    package func firstHealth(of key: C.ChildKey) async -> Bool {
        await cell.existingChildren?.firstHealth(of: key.description) ?? false
    }

    /// Whether a process of a child, or one below it, goes on that the child's next start takes over, because the daemon was killed or
    /// replaced.
    package func hasFormerLife(of key: C.ChildKey) -> Bool { cell.runtime.hasFormerLife(at: path.appending(key.description)) }

    /// The end of a child's last life; `nil` when none has ended, or there is no such child.
    package func lastExit(of key: C.ChildKey) -> ExitReason? {
        cell.existingChildren?.withSlot(key.description) { $0.record.lastExit } ?? nil
    }

    /// Whether the coordinator's children are being stopped because it ends, or have been.
    package var endsChildren: Bool { cell.existingChildren?.isEnding ?? false }

    /// Changes whether a child that fails too often is given up alone, as one of the root always is, or ends this coordinator.
    package func isolateFailures(_ isolates: Bool) { cell.children.isolateFailures(isolates) }
}

// MARK: - The beginning of a drain

/// The beginning of a drain, for code of a coordinator that would go on otherwise: one element when it begins, and none if the coordinator ends
/// without one.
///
///     for await _ in context.draining { accepting = false }
///
/// A drain begins when the coordinator's turn to stop has come, and its `shutdown` or that of one above it is ``Shutdown/draining(_:)``; for a
/// child that is run to its end, when its parent's drain begins, which waits for it.
public struct DrainSignal: AsyncSequence, Sendable {
    /// The element has no content.
    public typealias Element = Void
    /// The sequence never fails, it only ends.
    public typealias Failure = Never

    let beginning: OneShot<Bool>

    /// Whether the drain has begun.
    public var hasBegun: Bool { beginning.outcome == true }

    /// Creates the iterator that waits for the drain.
    public func makeAsyncIterator() -> Iterator { Iterator(beginning: beginning) }

    /// An iterator that waits for the drain.
    public struct Iterator: AsyncIteratorProtocol {
        var beginning: OneShot<Bool>?

        /// Returns when the drain begins; `nil` after that, when the coordinator has ended, or when the task is cancelled.
        public mutating func next() async -> Void? {
            guard let beginning = beginning.take() else { return nil }
            return await beginning.valueUnlessCancelled() == true ? () : nil
        }
    }
}

extension CoordinatorContext {
    /// The beginning of the coordinator's drain.
    ///
    /// The drain waits for the `run` hook of a coordinator that has asked for this, or whose own `shutdown` drains, and cancels the hook at the end
    /// of its time. Other hooks may go on for ever: they are cancelled when the rest has drained.
    public var draining: DrainSignal { DrainSignal(beginning: cell.awaitDrain()) }

    /// Runs an operation that is cancelled when a drain begins: a wait for the next job, not the job itself.
    ///
    ///     func run() async throws {
    ///         while let job = try await context.cancelWhenDraining({ try await queue.next() }) { try await perform(job) }
    ///     }
    ///
    /// - Returns: The operation's result, also if a drain has begun meanwhile; `nil` if the operation was cancelled by it, or would have begun
    ///   after it.
    /// - Throws: The error of the operation; `CancellationError` when the calling task is cancelled.
    public func cancelWhenDraining<Result: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        let draining = draining
        if draining.hasBegun { return nil }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                for await _ in draining {}
                return nil
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            if let first { return first }
            do {
                return try await group.next() ?? nil
            } catch is CancellationError {
                try Task.checkCancellation()
                return nil
            }
        }
    }
}

extension Coordinator {
    /// An empty list: the coordinator responds to no message.
    public static var responders: Responders { [] }
    /// The default policy: `oneForOne`, at most five restarts in a minute.
    public static var supervision: SupervisionPolicy { SupervisionPolicy() }
    /// The default: five seconds.
    public static var cancellationGrace: Duration { .seconds(5) }
    /// The default: the coordinator doesn't end by itself when it has nothing to do.
    public static var idleTimeout: Duration? { nil }
    /// Does nothing.
    public func start() async throws { context.cell.type.mark(absent: .start) }
    /// Has the coordinator restarted.
    public func reconfigured(from former: Configuration) async throws -> Reconfiguration { .restart }
    /// Waits for the stop, without a task of its own: see `RunHook`.
    public func run() async throws {
        context.cell.type.mark(absent: .run)
        throw RunHook.absent
    }
    /// The default limits: 1,024 running handlers, 1,024 waiting messages and 4 MiB, after which senders wait.
    public static var mailbox: MailboxPolicy { MailboxPolicy() }
    /// Does nothing.
    public func stopped() async { context.cell.type.mark(absent: .stopped) }
    /// Does nothing.
    public func paused() async {}
    /// Does nothing.
    public func resumed() async {}
    /// Does nothing.
    public func popped(to page: Page?) async {}
    /// Throws `noSuchChild`: by default no section can be opened.
    public func open(section: ChildKey) async throws {
        throw CoordinatorError(
            .noSuchChild,
            "\(context.path) opens no section '\(section.description)' by itself: implement `open(section:)`"
        )
    }
    /// Does nothing.
    public func unhandled(_ message: UnhandledMessage) async { context.cell.type.mark(absent: .unhandled) }
}
