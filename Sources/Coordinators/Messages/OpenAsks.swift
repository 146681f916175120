import ConcurrencySupport
import Synchronization

/// The open asks of a coordinator, which end when it stops, each at its deadline at the latest.
final class OpenAsks: Sendable {
    private struct State {
        var envelopes = Slab<Envelope>()
        var watch = DeadlineWatch()
    }

    let time: TimeSource
    private let state = Lock(State())

    /// Set under the lock, read without it by asks that don't wait here.
    private let hasClosed = Atomic(false)

    /// - Parameter isClosed: Whether they are those of a coordinator that has stopped.
    init(_ time: TimeSource, isClosed: Bool = false) {
        self.time = time
        if isClosed { hasClosed.store(true, ordering: .releasing) }
    }

    /// Whether the coordinator has stopped.
    var isClosed: Bool { hasClosed.load(ordering: .acquiring) }

    /// Adds an ask.
    ///
    /// - Returns: The number of the ask; `nil` once the coordinator has stopped.
    func insert(_ envelope: Envelope) -> UInt64? {
        let (number, isEarliest) = state.withLock { state -> (UInt64?, Bool) in
            guard !isClosed else { return (nil, false) }
            return (state.envelopes.insert(envelope), state.watch.isEarliest(envelope.deadline))
        }
        if isEarliest, let deadline = envelope.deadline { watch(until: deadline) }
        return number
    }

    /// Removes an ask that has ended.
    func remove(_ number: UInt64) {
        // The ask is released outside the lock.
        _ = state.withLock { $0.envelopes.remove(number) }
    }

    /// The asks that are open.
    var all: [Envelope] { state.withLock { Array($0.envelopes.elements) } }

    /// Ends the open asks, and with `forGood` every later one too.
    func end(with error: CoordinatorError, forGood: Bool) {
        let envelopes = state.withLock { state in
            if forGood { hasClosed.store(true, ordering: .releasing) }
            return state.envelopes.removeAll()
        }
        for envelope in envelopes { envelope.end(.failure(error)) }
    }
}

extension OpenAsks: DeadlineWatcher {
    func keep(_ timer: Timers.Timer, for deadline: MonotonicTime) -> Timers.Timer? {
        state.withLock { $0.watch.keep(timer, for: deadline) }
    }

    func pass(_ deadline: MonotonicTime) -> (overdue: [Envelope], next: MonotonicTime?) {
        state.withLock { $0.watch.pass(deadline, $0.envelopes.elements, now: time.now) }
    }
}

/// An owner of messages whose deadlines one timer watches.
protocol DeadlineWatcher: AnyObject, Sendable {
    /// The time of the deadlines.
    var time: TimeSource { get }
    /// Takes note of a timer that was set; see ``DeadlineWatch/keep(_:for:)``.
    func keep(_ timer: Timers.Timer, for deadline: MonotonicTime) -> Timers.Timer?
    /// Takes note that a timer has fired; see ``DeadlineWatch/pass(_:_:)``.
    func pass(_ deadline: MonotonicTime) -> (overdue: [Envelope], next: MonotonicTime?)
}

extension DeadlineWatcher {
    /// Sets the timer for a deadline, and ends the messages that are overdue then.
    ///
    /// The timer keeps the owner alive until it fires or is cancelled: a weak reference would make every other one slower.
    func watch(until deadline: MonotonicTime) {
        let timer = time.schedule(at: deadline) {
            let (overdue, next) = self.pass(deadline)
            for envelope in overdue { envelope.timeOut() }
            if let next { self.watch(until: next) }
        }
        if let former = keep(timer, for: deadline) { time.cancel(former) }
    }
}

/// The deadlines of many messages, watched by one timer: it's set for the earliest, and looks at all of them when it fires.
///
/// Most messages end long before their deadlines, so that a timer for each would be set only to be cancelled.
struct DeadlineWatch {
    /// The time for which the timer is set.
    private var time: MonotonicTime?
    /// The timer that was set last, to be cancelled when an earlier one replaces it, or at the end.
    private(set) var timer: Timers.Timer?

    /// Returns whether the timer must be set for a deadline, because it's earlier than all that are watched.
    mutating func isEarliest(_ deadline: MonotonicTime?) -> Bool {
        guard let deadline, time.map({ deadline < $0 }) ?? true else { return false }
        time = deadline
        return true
    }

    /// Takes note of a timer that was set.
    ///
    /// - Returns: The timer that isn't needed any more: the former one, or this one if an earlier deadline has come meanwhile.
    mutating func keep(_ timer: Timers.Timer, for deadline: MonotonicTime) -> Timers.Timer? {
        guard time == deadline else { return timer }
        defer { self.timer = timer }
        return self.timer
    }

    /// Removes and returns the timer, because nothing is watched any more.
    mutating func takeTimer() -> Timers.Timer? { timer.take() }

    /// Takes note that a timer has fired.
    ///
    /// - Parameters:
    ///   - time: The time for which the timer was set.
    ///   - envelopes: All messages that are watched.
    ///   - now: The present time.
    /// - Returns: The messages whose deadlines have passed, and the time for which to set the timer, if any.
    mutating func pass(
        _ time: MonotonicTime,
        _ envelopes: some Sequence<Envelope>,
        now: MonotonicTime
    ) -> (overdue: [Envelope], next: MonotonicTime?) {
        // A timer that was set earlier for a later time has been replaced.
        guard self.time == time else { return ([], nil) }
        var overdue: [Envelope] = []
        self.time = nil
        for envelope in envelopes {
            guard let deadline = envelope.deadline else { continue }
            if deadline <= now { overdue.append(envelope) } else if self.time.map({ deadline < $0 }) ?? true { self.time = deadline }
        }
        return (overdue, self.time)
    }
}
