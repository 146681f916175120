import ConcurrencySupport
import DequeModule
import Synchronization

/// The observers of one child, besides its parent's rows: each has its own queue, so that a slow one delays no other.
struct ChildObservers {
    /// An event or a change that an observer gets.
    enum Notice: Sendable {
        case event(Answer)
        case change(LifecycleChange)
    }

    struct Observer: Sendable {
        /// The delegate behind the observer; once it's gone, the observer is removed.
        weak var delegate: (any AnyObject & Sendable)?
        let isDelegate: Bool
        /// The observer's own queue, by which it's known.
        let queue: NoticeQueue

        var isDeserted: Bool { isDelegate && delegate == nil }
    }

    private(set) var all: [Observer] = []

    var isEmpty: Bool { all.isEmpty }

    /// Adds an observer.
    ///
    /// - Returns: False if the delegate was added already.
    mutating func add(_ queue: NoticeQueue, _ delegate: (any AnyObject & Sendable)?) -> Bool {
        if let delegate, all.contains(where: { $0.delegate === delegate }) { return false }
        all.append(Observer(delegate: delegate, isDelegate: delegate != nil, queue: queue))
        return true
    }

    /// Removes and returns the observers that satisfy the condition.
    mutating func remove(where isMeant: (Observer) -> Bool) -> [Observer] {
        let removed = all.filter(isMeant)
        if removed.isEmpty { return [] }
        // By queue, since a delegate may go between two looks.
        all.removeAll { observer in removed.contains { $0.queue === observer.queue } }
        return removed
    }
}

// MARK: - The queue of an observer

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

    /// Ends the queue, once what waits has been taken.
    func finish() { continuation.finish() }

    /// Drops what waits, because nobody wants it, and takes nothing more.
    func drop() { state.withLock { ($0.waiting, $0.bytes, $0.isOver) = ([], 0, true) } }

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

// MARK: - Adding and removing observers

extension ChildSupervisor {
    /// Adds an observer of a child, for all the child's incarnations until its removal.
    ///
    /// - Returns: False when there is no such child or the delegate was added already.
    func observe(_ key: String, with queue: NoticeQueue, delegate: (any AnyObject & Sendable)? = nil) -> Bool {
        let observed = withSlot(key) { slot in
            // A child that is quiet would keep those whose delegates have gone.
            let deserted = slot.record.observers.remove(where: \.isDeserted)
            return (isAdded: slot.record.observers.add(queue, delegate), deserted: deserted, host: slot.host)
        }
        guard let observed else { return false }
        end(observed.deserted)
        guard observed.isAdded else { return false }
        cell.runtime.observation.counts.observers.add(1, ordering: .relaxed)
        observed.host?.observeEvents()
        return true
    }

    func removeObservers(of key: String, where isMeant: (ChildObservers.Observer) -> Bool) {
        let removed = withSlot(key) { $0.record.observers.remove(where: isMeant) } ?? []
        for observer in removed { observer.queue.drop() }
        end(removed)
    }

    /// Announces a change in which supervision has no part.
    ///
    /// - Parameter toParent: Whether the coordinator's own rows get the change, because they have not caused it.
    func announce(_ change: LifecycleChange, of key: String, toParent: Bool) {
        guard let typeName = notify(key, .change(change)) else { return }
        let incarnation = withSlot(key) { $0.incarnation } ?? 0
        cell.runtime.announce(cell.path.appending(key), incarnation, change)
        if toParent, !cell.type.table.lifecycle.isEmpty {
            cell.post(.lifecycle(AnyChild(supervisor: self, key: key, typeName: typeName), change))
        }
    }

    /// Sends a notice to a child's observers.
    ///
    /// - Returns: The child's type; `nil` when the child is gone.
    @discardableResult
    func notify(_ key: String, _ notice: ChildObservers.Notice) -> String? {
        let listeners = withSlot(key) { slot in
            let deserted = slot.record.observers.remove(where: \.isDeserted)
            return (present: slot.record.observers.all, deserted: deserted, typeName: slot.definition.typeName)
        }
        guard let listeners else { return nil }
        end(listeners.deserted)
        for observer in listeners.present { observer.queue.append(notice) }
        return listeners.typeName
    }

    func end(_ observers: [ChildObservers.Observer]) {
        for observer in observers {
            observer.queue.finish()
            cell.runtime.observation.counts.observers.subtract(1, ordering: .relaxed)
        }
    }

    // MARK: Watching

    /// Answers the request when the child's present life ends, or at once when there is none.
    func watch(_ key: String, _ envelope: Envelope) {
        let path = cell.path.appending(key)
        let gone = state.withLock { state -> Termination? in
            let lives = state.isAlive(key) || state.isEnding(key)
            let answer = state.slots.with(key) { slot -> Termination? in
                guard lives, slot.host != nil else {
                    return Termination(path: path, incarnation: slot.incarnation, reason: slot.record.lastExit ?? .unknown)
                }
                slot.record.watchers[ObjectIdentifier(envelope)] = envelope
                return nil
            }
            return answer ?? Termination(path: path, incarnation: 0, reason: .unknown)
        }
        envelope.release()
        if let gone { return envelope.complete(.success(.value(gone))) }
        // One that is given up, or whose asker is gone, isn't kept until the child ends.
        let watcher = ObjectIdentifier(envelope)
        envelope.work(.function { [weak self] in _ = self?.withSlot(key) { $0.record.watchers[watcher] = nil } })
    }
}
