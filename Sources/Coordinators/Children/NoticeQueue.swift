import ConcurrencySupport
import DequeModule

/// A queue of the notices for one observer: at most 256, and 4 MiB of events from other processes; beyond that the oldest go to the dead
/// letters.
///
/// The queue is a sequence that can be read once. It ends when the reader's task is cancelled or the queue has finished, after the waiting
/// notices.
final class NoticeQueue: AsyncSequence, Sendable {
    typealias Element = ChildObservers.Notice
    typealias Failure = Never

    static let capacity = 256

    fileprivate struct State {
        var waiting: Deque<ChildObservers.Notice> = []
        var bytes = 0
        var isOver = false
    }

    private let state = Lock(State())
    /// The signal that a notice waits: an `AsyncStream` of the notices themselves could limit only their number.
    private let arrivals: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let path: CoordinatorPath
    /// The coordinator that observes, if it isn't an ancestor.
    private let observer: CoordinatorPath?
    private let deadLetters: DeadLetters

    init(of path: CoordinatorPath, for observer: CoordinatorPath? = nil, deadLetters: DeadLetters) {
        self.path = path
        self.observer = observer
        self.deadLetters = deadLetters
        (arrivals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.isOver = true } }
    }

    func append(_ notice: ChildObservers.Notice) {
        for dropped in state.withLock({ $0.append(notice) }) { record(dropped, .observerTooSlow) }
        continuation.yield()
    }

    func finish() { continuation.finish() }

    func makeAsyncIterator() -> Iterator { Iterator(queue: self, arrivals: arrivals.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let queue: NoticeQueue
        fileprivate var arrivals: AsyncStream<Void>.Iterator

        mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> ChildObservers.Notice? {
            while true {
                if let notice = queue.state.withLock({ $0.next() }) { return notice }
                // Notices that came just before the end still wait.
                guard await arrivals.next(isolation: actor) != nil else { return queue.state.withLock { $0.next() } }
            }
        }
    }

    /// Returns the event as the observer's type; an event of another type goes to the dead letters.
    func decoded<Event: Codable & Sendable>(_ event: Answer, as type: Event.Type) -> Event? {
        do {
            return try event.decoded(as: type)
        } catch {
            record(.event(event), .undeliverable("\(error)"))
            return nil
        }
    }

    private func record(_ notice: ChildObservers.Notice, _ reason: DeadLetter.Reason) {
        let name = if case .change(let change) = notice { "\(change)" } else { "event" }
        deadLetters.record(DeadLetter(name: name, sender: path, target: observer ?? path, reason: reason))
    }
}

extension NoticeQueue.State {
    /// Adds a notice and returns those that had to be dropped.
    fileprivate mutating func append(_ notice: ChildObservers.Notice) -> [ChildObservers.Notice] {
        guard !isOver else { return [] }
        waiting.append(notice)
        bytes += notice.receivedBytes
        var dropped: [ChildObservers.Notice] = []
        while waiting.count > NoticeQueue.capacity || waiting.count > 1 && bytes > Mailbox.eventBytesLimit, let oldest = next() {
            dropped.append(oldest)
        }
        return dropped
    }

    fileprivate mutating func next() -> ChildObservers.Notice? {
        guard let notice = waiting.popFirst() else { return nil }
        bytes -= notice.receivedBytes
        return notice
    }
}

extension ChildObservers.Notice {
    fileprivate var receivedBytes: Int {
        if case .event(let event) = self { event.receivedBytes } else { 0 }
    }
}
