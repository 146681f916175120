import ConcurrencySupport

infix operator => : AssignmentPrecedence

/// The delegates of a child: any number, added and removed.
///
///     child.delegates += auditor
///     child.delegates -= auditor
///
/// Delegates follow the path: a restart doesn't remove them, the child's removal does.
public struct Delegates<C: Coordinator>: Sendable {
    let child: Child<C>

    /// Adds a delegate; adding one again has no effect.
    public func add(_ delegate: some CoordinatorDelegate<C>) { child.supervisor.add(delegate, to: child) }

    /// Removes a delegate; one that wasn't added is ignored.
    public func remove(_ delegate: some CoordinatorDelegate<C>) {
        child.supervisor.removeObservers(of: child.key) { $0.delegate === delegate }
    }

    /// Adds a delegate, as ``add(_:)`` does.
    public static func += (delegates: Delegates, delegate: some CoordinatorDelegate<C>) { delegates.add(delegate) }

    /// Removes a delegate, as ``remove(_:)`` does.
    public static func -= (delegates: Delegates, delegate: some CoordinatorDelegate<C>) { delegates.remove(delegate) }
}

/// The receivers of a coordinator's events: its parent, and all delegates and streams, in this process or another.
///
///     context.delegates => .loggedIn(user)
public struct OwnDelegates<C: Coordinator>: Sendable {
    let node: Node

    /// Sends an event to all delegates, without waiting for any of them.
    public func tell(_ event: C.Event) { node.emit(.value(event)) }

    /// Sends an event to all delegates, as ``tell(_:)`` does.
    public static func => (delegates: OwnDelegates, event: C.Event) { delegates.tell(event) }
}

extension Child {
    /// The delegates of the child.
    public var delegates: Delegates<C> { Delegates(child: self) }
}

extension CoordinatorContext {
    /// The receivers of the coordinator's events.
    public var delegates: OwnDelegates<C> { OwnDelegates(node: node) }

    /// Returns a stream of the events of a coordinator anywhere in the tree, in this process or in another.
    ///
    /// The stream gets events from the return of this call on, and ends when that coordinator is removed, or its process or this one ends; of a
    /// child that a cluster places, also when it moves to another node.
    ///
    /// - Throws: `noSuchPath`, `peerLost`.
    public func events<K: Coordinator>(of type: K.Type, at path: CoordinatorPath) async throws -> EventStream<K> {
        try await node.events(of: type, at: path)
    }
}

extension Node {
    /// Returns a stream of the events of a coordinator anywhere in the tree; see ``CoordinatorContext/events(of:at:)``.
    func events<K: Coordinator>(of type: K.Type, at path: CoordinatorPath) async throws -> EventStream<K> {
        guard let parent = path.parent else {
            throw CoordinatorError(.noSuchPath, "the root has no parent that would hear its events")
        }
        let buffer = ReplyBuffer(.value(ReadEvents(key: path.key)), sender: self, deadline: nil, isBuiltin: true) {
            route($0, to: parent)
        }
        _ = try await buffer.next()
        let queue = NoticeQueue(of: path, for: self.path, deadLetters: runtime.deadLetters)
        let task = runtime.time.task {
            while let event = try? await buffer.next() { queue.append(.event(event)) }
            queue.finish()
        }
        return EventStream(queue) { task.cancel() }
    }
}
