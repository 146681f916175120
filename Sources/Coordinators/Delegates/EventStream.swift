import ConcurrencySupport

/// What a coordinator tells its delegates, as a sequence.
///
///     for await event in child.events() { … }
///
/// At most 256 events wait, and 4 MiB of events from other processes; then the oldest go to the dead letters. It ends when the child is removed. To be read once; it listens from
/// the moment it was asked for.
public struct EventStream<C: Coordinator>: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = C.Event
    /// It never fails: it ends.
    public typealias Failure = Never

    private let queue: NoticeQueue
    private let subscription: Subscription

    init(_ child: Child<C>) {
        let queue = NoticeQueue(of: child.path, deadLetters: child.supervisor.node.runtime.deadLetters)
        self.queue = queue
        subscription = Subscription(child.supervisor, child.key, deliver: { queue.append($0) }, finish: { queue.finish() })
        if subscription.isOver { queue.finish() }
    }

    /// A stream that something else feeds.
    init(_ queue: NoticeQueue, endedBy end: @escaping @Sendable () -> Void) {
        self.queue = queue
        subscription = Subscription(end)
    }

    /// Reads the events.
    public func makeAsyncIterator() -> Iterator {
        Iterator(notices: queue.makeAsyncIterator(), queue: queue, subscription: subscription)
    }

    /// Reads one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        var notices: NoticeQueue.Iterator
        let queue: NoticeQueue
        let subscription: Subscription

        /// The next event; `nil` at the end.
        public mutating func next() async -> C.Event? {
            while let notice = await notices.next(isolation: #isolation) {
                if case .event(let event) = notice, let event = queue.decoded(event, as: C.Event.self) { return event }
            }
            return nil
        }
    }
}

/// Listening that can be ended; it ends by itself when nobody holds it.
public final class Subscription: Sendable {
    private let end: Lock<(@Sendable () -> Void)?>

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = Lock(end)
    }

    init(
        _ supervisor: ChildSupervisor,
        _ key: String,
        deliver: @escaping @Sendable (ChildObservers.Notice) -> Void,
        finish: @escaping @Sendable () -> Void
    ) {
        var end: (@Sendable () -> Void)?
        if let id = supervisor.observe(key, deliver: deliver, finish: finish) {
            end = { supervisor.removeObserver(id, of: key) }
        }
        self.end = Lock(end)
    }

    deinit { cancel() }

    /// Whether it has been ended, or there was nothing to listen to.
    var isOver: Bool { end.withLock { $0 == nil } }

    /// Ends the listening.
    ///
    /// Without effect the second time.
    public func cancel() {
        end.withLock { end in
            defer { end = nil }
            return end
        }?()
    }
}

extension Child {
    /// What the child tells its delegates from now on.
    ///
    /// Every call listens anew.
    public func events() -> EventStream<C> { EventStream(self) }

    /// Has a closure called with what the child tells, one event after the other, until the subscription is cancelled or dropped.
    public func onEvent(_ body: @escaping @Sendable (C.Event) async -> Void) -> Subscription {
        let queue = NoticeQueue(of: path, deadLetters: supervisor.node.runtime.deadLetters)
        let subscription = Subscription(supervisor, key, deliver: { queue.append($0) }, finish: { queue.finish() })
        if subscription.isOver { queue.finish() }
        supervisor.tasks.add {
            for await notice in queue {
                if case .event(let event) = notice, let event = queue.decoded(event, as: C.Event.self) { await body(event) }
            }
        }
        return subscription
    }
}
