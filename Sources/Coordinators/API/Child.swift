import ConcurrencySupport

/// A typed handle on a started child, in this process or another; never the actor itself.
///
/// It follows the path: after a restart it leads to the new incarnation.
public struct Child<C: Coordinator>: Sendable {
    let supervisor: ChildSupervisor
    let key: String

    /// The child's place in the tree.
    public var path: CoordinatorPath { supervisor.node.path.appending(key) }

    /// How the child is doing; `inactive` when it's gone.
    public var state: CoordinatorSnapshot.State { supervisor.snapshotState(of: key) }

    /// Counts the child's lives; 0 when it's gone.
    public var incarnation: UInt32 { supervisor.incarnation(of: key) }

    /// Asks the child itself: only its own rows are looked at.
    ///
    /// While the child is restarted the ask waits, until the deadline.
    ///
    /// - Throws: `unhandled` when it has no row for the message; otherwise as `Context.ask`.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration = .seconds(5)) async throws -> M.Reply {
        try await M.retried(within: timeout) { remaining in
            try await deliver(message, timeout: remaining, isOneWay: false).decoded(as: M.Reply.self)
        }
    }

    /// Asks the child what has no reply, and returns when the handler has ended.
    public func ask<M: ResponderMessage>(_ message: M, timeout: Duration = .seconds(5)) async throws where M.Reply == NoReply {
        let _: NoReply = try await ask(message, timeout: timeout)
    }

    /// Sends the child a message one way.
    ///
    /// - Returns: whether it has a row for the message.
    @discardableResult
    public func send<M: ResponderMessage>(_ message: M) async throws -> Bool {
        do {
            _ = try await deliver(message, timeout: nil, isOneWay: true)
            return true
        } catch let error as CoordinatorError where error.code == .unhandled {
            return false
        }
    }

    /// The child's key, as the parent's type of keys.
    public func key<Key: CoordinatorKey>(as type: Key.Type = Key.self) -> Key? { Key(pathComponent: key) }

    /// Ends the child and its subtree, whatever its state, and starts it anew with the configuration it was given first.
    ///
    /// Returns when it's ready; not cancellable.
    ///
    /// - Throws: `noSuchChild`; what its `start` threw.
    public func restart() async throws {
        try await supervisor.restart(key)
    }

    /// Stops the child and frees its key.
    ///
    /// Stopping one that is gone does nothing.
    public func stop() async {
        try? await supervisor.stop(key, isByParent: true, forgets: true)
    }

    /// Pauses the child and those below it: new messages wait for them.
    ///
    /// Returns when they have followed. Pausing one that is paused by name, or gone, does nothing.
    public func pause() async {
        try? await supervisor.pause(key, true, isByParent: true)
    }

    /// Resumes the child, unless an ancestor is paused; what has waited begins in order.
    public func resume() async {
        try? await supervisor.pause(key, false, isByParent: true)
    }

    private func deliver(_ message: some ResponderMessage, timeout: Duration?, isOneWay: Bool) async throws -> Answer {
        let node = supervisor.node
        let envelope = Envelope(.value(message), sender: node.path, deadline: timeout.map { .now + $0 }, isOneWay: isOneWay)
        return try await envelope.delivered(owner: node.openAsks) {
            guard supervisor.has(key) else { return $0.end(.failure(CoordinatorError(.stopped, "\(path) is gone"))) }
            supervisor.deliver($0, to: key, [], isDirect: true)
        }
    }
}

extension ChildSupervisor {
    func has(_ key: String) -> Bool { state.withLock { $0.slots[key] != nil } }

    func snapshotState(of key: String) -> CoordinatorSnapshot.State {
        state.withLock { state in
            state.slots[key]?.state(state.machine.state(of: key)) ?? .inactive
        }
    }

    func incarnation(of key: String) -> UInt32 {
        state.withLock { $0.slots[key]?.incarnation ?? 0 }
    }
}
