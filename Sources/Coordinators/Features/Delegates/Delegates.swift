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

    /// Removes a delegate, which gets nothing more: neither what is sent from now on nor what waits for it; one that wasn't added is ignored.
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
    let cell: CoordinatorCell

    /// Sends an event to all delegates, without waiting for any of them.
    public func tell(_ event: C.Event) { cell.emit(.value(event)) }

    /// Sends an event to all delegates, as ``tell(_:)`` does.
    public static func => (delegates: OwnDelegates, event: C.Event) { delegates.tell(event) }
}

extension Child {
    /// The delegates of the child.
    public var delegates: Delegates<C> { Delegates(child: self) }
}

extension CoordinatorContext {
    /// The receivers of the coordinator's events.
    public var delegates: OwnDelegates<C> { OwnDelegates(cell: cell) }

    /// Returns a stream of the events of a coordinator anywhere in the tree, in this process or in another.
    ///
    /// The stream gets events from the return of this call on, and ends when that coordinator is removed, or its process or this one ends; of a
    /// child that a cluster places, also when it moves to another node.
    ///
    /// - Throws: `noSuchPath`, `peerLost`.
    public func events<K: Coordinator>(of type: K.Type, at path: CoordinatorPath) async throws -> EventStream<K> {
        try await cell.events(of: type, at: path)
    }
}

extension CoordinatorCell {
    /// Returns a stream of the events of a coordinator anywhere in the tree; see ``CoordinatorContext/events(of:at:)``.
    func events<K: Coordinator>(of type: K.Type, at path: CoordinatorPath) async throws -> EventStream<K> {
        guard let parent = path.parent else {
            throw CoordinatorError(.noSuchPath, "the root has no parent that would hear its events")
        }
        let buffer = ReplyBuffer(.value(ReadEvents(key: path.key)), sender: self, deadline: nil, isBuiltin: true) {
            route($0, to: parent)
        }
        _ = try await buffer.next()
        let queue = NoticeQueue(of: path, for: self.path, deadLetters: runtime.observation.deadLetters)
        let task = runtime.time.task {
            while let event = try? await buffer.next() { queue.append(.event(event)) }
            queue.finish()
        }
        return EventStream(queue) { task.cancel() }
    }
}

// MARK: - The delegate's protocol

/// An object that gets the events of a coordinator and its changes.
///
///     actor Auditor: CoordinatorDelegate {
///         func child(_ child: Child<LoginCoordinator>, didSend event: LoginCoordinator.Event) async { … }
///     }
///     child.delegates += auditor
///
/// Both methods have empty defaults. A delegate is held weakly. Each has a queue of its own, of 256 notices; when it's full, the oldest
/// notice goes to the dead letters, and no other delegate is delayed. Notices of one child arrive one after the other.
public protocol CoordinatorDelegate<Subject>: AnyObject, Sendable {
    /// The type of the coordinators that the delegate observes.
    associatedtype Subject: Coordinator

    /// Handles an event that the child has sent to its delegates.
    func child(_ child: Child<Subject>, didSend event: Subject.Event) async

    /// Handles a change of the child.
    func child(_ child: Child<Subject>, didChange change: LifecycleChange) async
}

extension CoordinatorDelegate {
    /// Does nothing.
    public func child(_ child: Child<Subject>, didSend event: Subject.Event) async {}
    /// Does nothing.
    public func child(_ child: Child<Subject>, didChange change: LifecycleChange) async {}
}

// MARK: - Streams of events

/// The events of a coordinator as a sequence.
///
///     for await event in child.events() { … }
///
/// At most 256 events wait, and 4 MiB of events from other processes; then the oldest go to the dead letters. The stream ends when the
/// child is removed. It gets the events from the moment of its creation on, and can be read once.
public struct EventStream<C: Coordinator>: AsyncSequence, Sendable {
    /// The type of an event.
    public typealias Element = C.Event
    /// The stream never fails, it only ends.
    public typealias Failure = Never

    private let queue: NoticeQueue
    private let subscription: Subscription

    init(_ child: Child<C>) {
        queue = NoticeQueue(of: child.path, deadLetters: child.supervisor.cell.runtime.observation.deadLetters)
        subscription = Subscription(child.supervisor, child.key, queue)
    }

    /// Creates a stream that is fed through a queue.
    init(_ queue: NoticeQueue, endedBy end: @escaping @Sendable () -> Void) {
        self.queue = queue
        subscription = Subscription(end)
    }

    /// Creates the iterator that reads the events.
    public func makeAsyncIterator() -> Iterator {
        Iterator(notices: queue.makeAsyncIterator(), queue: queue, subscription: subscription)
    }

    /// An iterator that reads one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var notices: NoticeQueue.Iterator
        let queue: NoticeQueue
        let subscription: Subscription

        /// Returns the next event; `nil` at the end.
        public mutating func next() async -> C.Event? {
            let waiting = HandlerScope.current?.beginWait()
            defer { waiting?.end() }
            while let notice = await notices.next(isolation: #isolation) {
                if case .event(let event) = notice, let event = queue.decoded(event, as: C.Event.self) { return event }
            }
            return nil
        }
    }
}

/// A subscription to events, which ends when it's cancelled or released.
public final class Subscription: Sendable {
    private let end: Lock<(@Sendable () -> Void)?>

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = Lock(end)
    }

    /// Creates a subscription that feeds a queue with a child's notices; the queue has ended if there is no such child.
    init(_ supervisor: ChildSupervisor, _ key: String, _ queue: NoticeQueue) {
        var end: (@Sendable () -> Void)?
        if supervisor.observe(key, with: queue) {
            end = { supervisor.removeObservers(of: key) { $0.queue === queue } }
        } else {
            queue.finish()
        }
        self.end = Lock(end)
    }

    deinit { cancel() }

    /// Whether the subscription has ended, or there was no child to subscribe to.
    var isOver: Bool { end.withLock { $0 == nil } }

    /// Ends the subscription.
    ///
    /// A second call has no effect.
    public func cancel() {
        end.withLock { end in
            defer { end = nil }
            return end
        }?()
    }
}

extension Child {
    /// Returns a stream of the child's events from now on.
    ///
    /// Every call creates a stream of its own.
    public func events() -> EventStream<C> { EventStream(self) }

    /// Calls a closure with the child's events, one after the other, until the subscription is cancelled or released.
    public func onEvent(_ body: @escaping @Sendable (C.Event) async -> Void) -> Subscription {
        let queue = NoticeQueue(of: path, deadLetters: supervisor.cell.runtime.observation.deadLetters)
        let subscription = Subscription(supervisor, key, queue)
        supervisor.tasks.add {
            for await notice in queue {
                if case .event(let event) = notice, let event = queue.decoded(event, as: C.Event.self) { await body(event) }
            }
        }
        return subscription
    }
}

// MARK: - Events for coordinators elsewhere

extension CoordinatorCell {
    /// Streams the events of a child to a coordinator elsewhere in the tree, until that coordinator or its process ends.
    func streamEvents(_ envelope: Envelope) {
        guard let key = try? envelope.message(as: ReadEvents.self).key, let flow = envelope.flow, let children = existingChildren else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "\(path) has no children")))
        }
        let queue = NoticeQueue(of: path.appending(key), deadLetters: runtime.observation.deadLetters)
        let subscription = Subscription(children, key, queue)
        guard !subscription.isOver else {
            return envelope.end(.failure(CoordinatorError(.noSuchPath, "there is no coordinator at \(path.appending(key))")))
        }
        envelope.release()
        let task = handle(envelope) {
            defer { subscription.cancel() }
            do {
                try flow.pass(.value(NoReply()))
                for await notice in queue {
                    if case .event(let event) = notice { try await flow.send(event) }
                }
                envelope.complete(.success(.none))
            } catch {
                envelope.complete(.failure(error))
            }
        }
        envelope.work(.task(task))
    }
}

extension CoordinatorHandle {
    /// Returns a stream of the coordinator's events, from the return of this call on.
    ///
    /// The stream ends when the coordinator is removed, or its process or the tree ends.
    ///
    /// - Throws: `noSuchPath`, `peerLost`.
    public func events() async throws -> EventStream<C> { try await running.root.events(of: C.self, at: path) }
}

extension ChildSupervisor {
    func add<D: CoordinatorDelegate>(_ delegate: D, to child: Child<D.Subject>) {
        let queue = NoticeQueue(of: child.path, deadLetters: cell.runtime.observation.deadLetters)
        guard observe(child.key, with: queue, delegate: delegate) else { return }
        tasks.add { [weak delegate] in
            for await notice in queue {
                guard let delegate else { break }
                switch notice {
                case .change(let change): await delegate.child(child, didChange: change)
                case .event(let event):
                    if let event = queue.decoded(event, as: D.Subject.Event.self) { await delegate.child(child, didSend: event) }
                }
            }
        }
    }
}
