import ConcurrencySupport
import WireProtocol

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
        return (host as? LocalHost)?.coordinator?.inThisProcess(rest.dropFirst())
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
