import ConcurrencySupport
import WireProtocol

/// A typed handle on a started child, in this process or another; never the actor itself.
///
/// The handle follows the path: after a restart it leads to the new incarnation.
public struct Child<C: Coordinator>: Sendable {
    let supervisor: ChildSupervisor
    let key: String

    /// The child's place in the tree.
    public var path: CoordinatorPath { supervisor.cell.path.appending(key) }

    /// The state of the child; `inactive` when it's gone.
    public var state: CoordinatorState { supervisor.snapshotState(of: key) }

    /// The number of the child's current incarnation, counted from 1; 0 when the child is gone.
    public var incarnation: UInt32 { supervisor.incarnation(of: key) }

    /// Asks the child itself: only its own rows are searched.
    ///
    /// While the child is restarted the ask waits, until the deadline.
    ///
    /// - Parameters:
    ///   - message: The message that is asked.
    ///   - timeout: As of `CoordinatorContext.ask`.
    /// - Throws: `unhandled` when the child has no row for the message; otherwise as `CoordinatorContext.ask`.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) async throws -> M.Reply {
        guard let instruments else { return try await askUnobserved(message, timeout) }
        return try await instruments.around(info(of: M.self, .ask)) { try await askUnobserved(message, timeout) }
    }

    @inline(__always)
    private func askUnobserved<M: ResponderMessage>(_ message: M, _ timeout: Duration?) async throws -> M.Reply {
        try await M.retried(within: timeout, supervisor.cell.runtime.time) { deadline in
            if M.coalesces {
                return try await supervisor.cell.askTogether(message, by: deadline, child: key) {
                    try await deliver(message, by: deadline, isOneWay: false)
                }
            }
            return try await deliver(message, by: deadline, isOneWay: false).decoded(as: M.Reply.self)
        }
    }

    /// Asks the child a message without a reply, and returns when the handler has ended.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) async throws where M.Reply == NoReply {
        let _: NoReply = try await ask(message, timeout: timeout)
    }

    /// Sends the child a message one way.
    ///
    /// - Parameters:
    ///   - message: The message that is sent.
    ///   - acknowledged: As of `CoordinatorContext.send`: whether the call returns when the message has been handled, once.
    ///   - timeout: The time after which a message that still waits is withdrawn, and the call fails with `timedOut`; `nil`: none.
    /// - Returns: Whether the child has a row for the message.
    /// - Throws: As `CoordinatorContext.send`.
    @discardableResult
    public func send<M: ResponderMessage>(_ message: M, acknowledged: Bool = false, timeout: Duration? = nil) async throws -> Bool {
        if instruments != nil || acknowledged { return try await sendOtherwise(message, acknowledged, timeout) }
        return try await sendUnobserved(message, timeout)
    }

    /// Asks the child for a stream of replies: only its own rows are searched.
    ///
    /// - Parameters:
    ///   - message: The message whose replies are wanted.
    ///   - timeout: The time after which the stream ends with `timedOut`; none by default.
    public func stream<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) -> ReplyStream<M.Reply> {
        supervisor.cell.stream(message, timeout, to: path) { dispatch($0) }
    }

    /// Returns the child's key as a key of the parent's type; `nil` if it isn't one.
    public func key<Key: CoordinatorKey>(as type: Key.Type = Key.self) -> Key? { Key(key) }

    /// Ends the child and its subtree, whatever its state, and starts it again with its configuration.
    ///
    /// Returns when the child is ready; cancellation has no effect.
    ///
    /// - Throws: `noSuchChild`; the error that its `start` threw.
    public func restart() async throws {
        try await supervisor.restart(key)
    }

    /// Changes the child's configuration.
    ///
    ///     try await cart.reconfigure { $0.limit = 5 }
    ///
    /// The parent keeps the new configuration for this life and every later one. A living child takes it by its hook
    /// ``Coordinator/reconfigured(from:)``, in its turn among the messages, or is restarted with it, which is the hook's default. A child
    /// that has been stopped takes it when it's started again. The call returns when the child has taken the configuration or is ready again; without a difference it
    /// does nothing. Changes of one child come one after the other.
    ///
    /// - Parameters:
    ///   - timeout: The time that the hook may take; five seconds by default. A restart takes as long as the child needs.
    ///   - change: A function that changes the configuration.
    /// - Throws: `noSuchChild`; `configurationDiffers` when another call has changed the configuration at the same time; the error with which
    ///   the hook refuses the configuration, or `timedOut`: the former configuration then stays. The error that the child's `start` threw,
    ///   of a child that was restarted.
    public func reconfigure(timeout: Duration = .seconds(5), _ change: (inout C.Configuration) throws -> Void) async throws {
        try await supervisor.reconfigure(key, timeout: timeout, change)
    }

    /// Ends the child and its subtree, and frees its key; returns when nothing is left of it.
    ///
    /// Removing a child that is gone does nothing.
    public func remove() async {
        try? await supervisor.stop(key, initiator: .parent, forgets: true)
    }

    /// Pauses the child and those below it: new messages to them wait.
    ///
    /// Returns when all of them are paused. Pausing a child that is paused by name already, or gone, does nothing.
    public func pause() async {
        try? await supervisor.setPaused(true, for: key, initiator: .parent)
    }

    /// Resumes the child, unless an ancestor is paused; messages that have waited begin in order.
    public func resume() async {
        try? await supervisor.setPaused(false, for: key, initiator: .parent)
    }

    /// Sends a message that is acknowledged, or observed: apart, so that a task that waits with another one keeps no room for this.
    @inline(never)
    private func sendOtherwise<M: ResponderMessage>(_ message: M, _ isAcknowledged: Bool, _ timeout: Duration?) async throws -> Bool {
        func perform() async throws -> Bool {
            isAcknowledged ? try await sendAcknowledged(message, timeout) : try await sendUnobserved(message, timeout)
        }
        // They may end at any time.
        guard let instruments else { return try await perform() }
        return try await instruments.around(info(of: M.self, .send)) { try await perform() }
    }

    @inline(__always)
    private func sendUnobserved(_ message: some ResponderMessage, _ timeout: Duration?) async throws -> Bool {
        let deadline = timeout.map { supervisor.cell.runtime.time.now + $0 }
        return try await Envelope.isAccepted { try await deliver(message, by: deadline, isOneWay: true) }
    }

    private func sendAcknowledged(_ message: some ResponderMessage, _ timeout: Duration?) async throws -> Bool {
        let cell = supervisor.cell
        let deadline = timeout.map { cell.runtime.time.now + $0 }
        return try await cell.runtime.sendAcknowledged(.value(message), from: cell.path, by: deadline, in: cell.openAsks) { dispatch($0) }
    }

    /// The instruments of the process; `nil` when there are none.
    private var instruments: Instruments? {
        let instruments = supervisor.cell.runtime.observation.instruments
        return instruments.areActive ? instruments : nil
    }

    private func info<M: ResponderMessage>(of message: M.Type, _ kind: MessageInfo.Kind) -> MessageInfo {
        MessageInfo(message, kind, sentBy: supervisor.cell, to: path)
    }

    private func deliver(_ message: some ResponderMessage, by deadline: MonotonicTime?, isOneWay: Bool) async throws -> Answer {
        let cell = supervisor.cell
        let envelope = Envelope(.value(message), sender: cell.path, deadline: deadline, isOneWay: isOneWay)
        return try await envelope.delivered(in: cell.openAsks) { dispatch($0) }
    }

    private func dispatch(_ envelope: Envelope) {
        guard supervisor.has(key) else { return envelope.end(.failure(CoordinatorError(.stopped, "\(path) is gone"))) }
        supervisor.deliver(envelope, to: key, [], isDirect: true)
    }
}

extension AnyChild {
    /// Returns a typed handle; `nil` when the child is of another type.
    public func typed<K: Coordinator>(as type: K.Type = K.self) -> Child<K>? {
        typeName == TypeNames.name(of: type) ? Child(supervisor: supervisor, key: key) : nil
    }
}

/// A typed handle on a coordinator anywhere in the tree, for code outside of the tree: an HTTP server, a command line, a test.
///
///     let cart = try runtime.coordinator(CartCoordinator.self, at: "/cart")
///     let total = try await cart.ask(Cart.Total())
///
/// The handle follows the path: after a restart it leads to the new incarnation. It keeps neither the coordinator nor the tree alive.
public struct CoordinatorHandle<C: Coordinator>: Sendable {
    private weak let runtime: CoordinatorRuntime?

    /// The coordinator's place in the tree.
    public let path: CoordinatorPath

    fileprivate init(_ runtime: CoordinatorRuntime, _ path: CoordinatorPath) { (self.runtime, self.path) = (runtime, path) }

    /// Asks the coordinator itself: only its own rows are searched.
    ///
    /// A message to a coordinator of this process isn't encoded. While the coordinator is restarted the ask waits, until the deadline.
    ///
    /// - Parameters:
    ///   - message: The message that is asked.
    ///   - timeout: As of `CoordinatorContext.ask`.
    /// - Throws: `noSuchPath`; `unhandled` when the coordinator has no row for the message; otherwise as `CoordinatorContext.ask`. The
    ///   error of the handler is thrown as it was if the message declares it as its `Failure`. Cancelling the task cancels the handler.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) async throws -> M.Reply {
        try await running.ask(message, at: path, timeout: timeout, isDirect: true)
    }

    /// Asks the coordinator a message without a reply, and returns when the handler has ended.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) async throws where M.Reply == NoReply {
        let _: NoReply = try await ask(message, timeout: timeout)
    }

    /// Sends the coordinator a message one way.
    ///
    /// - Parameters:
    ///   - message: The message that is sent.
    ///   - acknowledged: As of `CoordinatorContext.send`: whether the call returns when the message has been handled, once.
    ///   - timeout: The time after which a message that still waits is withdrawn, and the call fails with `timedOut`; `nil`: none.
    /// - Returns: Whether the coordinator has a row for the message.
    /// - Throws: As `ask`, without the handler's errors; of an acknowledged message the handler's error too.
    @discardableResult
    public func send<M: ResponderMessage>(_ message: M, acknowledged: Bool = false, timeout: Duration? = nil) async throws -> Bool {
        try await running.send(message, at: path, acknowledged: acknowledged, timeout: timeout, isDirect: true)
    }

    /// Asks the coordinator for a stream of replies.
    ///
    /// - Parameters:
    ///   - message: The message whose replies are wanted.
    ///   - timeout: The time after which the stream ends with `timedOut`; none by default.
    /// - Throws: `stopped` when the runtime isn't running. The stream throws what `ask` does.
    public func stream<M: ResponderMessage>(_ message: M, timeout: Duration? = nil) throws -> ReplyStream<M.Reply> {
        try running.stream(message, at: path, timeout: timeout)
    }

    /// Returns the coordinator's present state, with its subtree.
    public func snapshot() async throws -> CoordinatorSnapshot { try await running.snapshot(of: path) }

    var running: CoordinatorRuntime {
        get throws {
            guard let runtime else { throw CoordinatorError(.stopped, "the runtime has ended") }
            return runtime
        }
    }
}

extension CoordinatorRuntime {
    /// Returns a handle on the coordinator at a path, in this process or another.
    ///
    /// - Throws: `stopped` when the runtime isn't running; `noSuchPath` when there is no such coordinator; `unknownType` when a coordinator of
    ///   another type is there. Of coordinators below worker processes nothing is known here: their handles fail when they are used.
    public func coordinator<C: Coordinator>(_ type: C.Type, at path: CoordinatorPath) throws -> CoordinatorHandle<C> {
        if let found = try root.typeName(at: path.components[...]), found != TypeNames.name(of: type) {
            throw CoordinatorError(.unknownType, "the coordinator at \(path) is a \(found), not a \(TypeNames.name(of: type))")
        }
        return CoordinatorHandle(self, path)
    }
}

extension CoordinatorCell {
    /// Returns the coordinator at or below this one; `nil` if it isn't in this process, or doesn't live.
    func inThisProcess(_ rest: ArraySlice<Substring>) -> CoordinatorCell? {
        guard let key = rest.first else { return self }
        let host = try? existingChildren?.host(of: String(key))
        return (host as? CoordinatorCell)?.ifBegun?.inThisProcess(rest.dropFirst())
    }

    /// Returns the name of the type of a coordinator at or below this one; `nil` when only another process knows it, or it doesn't live.
    ///
    /// - Throws: `noSuchPath` if there is no such coordinator.
    fileprivate func typeName(at rest: ArraySlice<Substring>) throws -> String? {
        guard let key = rest.first else { return type.name }
        guard let typeName = existingChildren?.typeName(of: String(key)) else { throw noSuchPath(key) }
        if rest.count == 1 { return typeName }
        return try inThisProcess([key])?.typeName(at: rest.dropFirst())
    }
}
