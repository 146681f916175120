import ConcurrencySupport

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
        queue = NoticeQueue(of: child.path, deadLetters: child.supervisor.node.runtime.deadLetters)
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
        if let id = supervisor.observe(key, with: queue) {
            end = { supervisor.removeObservers(of: key) { $0.id == id } }
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
        let queue = NoticeQueue(of: path, deadLetters: supervisor.node.runtime.deadLetters)
        let subscription = Subscription(supervisor, key, queue)
        supervisor.tasks.add {
            for await notice in queue {
                if case .event(let event) = notice, let event = queue.decoded(event, as: C.Event.self) { await body(event) }
            }
        }
        return subscription
    }
}
