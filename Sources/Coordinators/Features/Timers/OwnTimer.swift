package import ConcurrencySupport
import Logging

/// A timer of a coordinator's own.
final class OwnTimer: Sendable {
    typealias Body = @Sendable (any Coordinator) async throws -> Void

    private enum Phase {
        /// The call isn't due. Can transition to: held, running, ended.
        case waiting(Timers.Timer?)
        /// The call is due, and the coordinator is paused. Can transition to: running, ended.
        case held
        /// The call runs. Can transition to: waiting, ended.
        case running
        case ended
    }

    private struct State {
        var phase = Phase.waiting(nil)
        /// The time at which the call is or was due.
        var due: MonotonicTime
    }

    private let time: TimeSource
    /// The time from one call to the next; `nil`: there is one call.
    let interval: Duration?
    let body: Body
    private let state: Lock<State>

    init(after delay: Duration, every interval: Duration?, by time: TimeSource, _ body: @escaping Body) {
        self.time = time
        self.interval = interval
        self.body = body
        state = Lock(State(due: time.now + delay))
    }

    var hasEnded: Bool {
        state.withLock { if case .ended = $0.phase { true } else { false } }
    }

    /// Has a coordinator called when the time has come.
    func arm(for cell: CoordinatorCell) {
        state.withLock { state in
            guard case .waiting = state.phase else { return }
            state.phase = .waiting(time.schedule(at: state.due) { [weak cell] in cell?.fire(self) })
        }
    }

    /// Notes that the call is due and has to wait.
    func hold() {
        state.withLock { if case .waiting = $0.phase { $0.phase = .held } }
    }

    /// Notes that the call begins.
    ///
    /// - Returns: False when the timer has been cancelled.
    func beginCall() -> Bool {
        state.withLock { state in
            switch state.phase {
            case .waiting, .held:
                state.phase = .running
                return true
            case .running, .ended: return false
            }
        }
    }

    /// Whether the call is due and waits.
    var isHeld: Bool {
        state.withLock { if case .held = $0.phase { true } else { false } }
    }

    /// Notes that the call has ended: the next one is due at the next multiple of the interval.
    ///
    /// - Returns: Whether there is a next one.
    func callEnded() -> Bool {
        state.withLock { state in
            guard case .running = state.phase else { return false }
            guard let interval else {
                state.phase = .ended
                return false
            }
            let elapsed = max(time.now - state.due, .zero)
            state.due = state.due + interval * (Int(elapsed / interval) + 1)
            state.phase = .waiting(nil)
            return true
        }
    }

    func cancel() {
        let timer = state.withLock { state -> Timers.Timer? in
            defer { state.phase = .ended }
            if case .waiting(let timer) = state.phase { return timer } else { return nil }
        }
        if let timer { time.cancel(timer) }
    }
}

extension CoordinatorCell {
    /// Schedules calls of a closure, until the coordinator stops.
    func schedule(after delay: Duration, every interval: Duration?, _ body: @escaping OwnTimer.Body) -> CoordinatorTimer {
        let timer = OwnTimer(after: delay, every: interval, by: runtime.time, body)
        let isAccepted = state.withLock { state -> Bool in
            guard state.life.phase == .starting || state.life.phase == .active else { return false }
            state.timers.all.removeAll(where: \.hasEnded)
            state.timers.all.append(timer)
            return true
        }
        if isAccepted { timer.arm(for: self) } else { timer.cancel() }
        return CoordinatorTimer(timer: timer)
    }

    /// Begins a call that is due, on the timers' thread; it waits while the coordinator is paused, or isn't there yet.
    fileprivate func fire(_ timer: OwnTimer) {
        let mayBegin = state.withLock { state -> Bool in
            switch state.life.phase {
            case .starting, .active: break
            case .draining, .stopping, .stopped: return false
            }
            if state.life.instance != nil, !state.mailbox.isPaused { return true }
            timer.hold()
            return false
        }
        if mayBegin { call(timer) }
    }

    /// Begins the calls that have waited until the coordinator is there, or is resumed.
    func callHeldTimers() {
        let held = state.withLock { $0.hasTimers ? $0.timers.all.filter(\.isHeld) : [] }
        for timer in held { call(timer) }
    }

    private func call(_ timer: OwnTimer) {
        guard timer.beginCall() else { return }
        HandlerScope.perform(in: nil) { _ = handle { await self.perform(timer) } }
    }

    private func perform(_ timer: OwnTimer) async {
        if let instance = state.withLock({ $0.life.instance }) {
            do {
                try await timer.body(instance)
            } catch {
                if !Task.isCancelled { logger.warning("a timer's call failed", metadata: ["error": "\(error)"]) }
            }
        }
        if timer.callEnded() { return timer.arm(for: self) }
        state.withLock { $0.timers.all.removeAll { $0 === timer } }
    }

    /// Cancels the timers of a coordinator that has stopped.
    func cancelTimers() {
        let timers = state.withLock { state -> [OwnTimer] in
            guard state.hasTimers else { return [] }
            defer { state.timers.all = [] }
            return state.timers.all
        }
        for timer in timers { timer.cancel() }
    }
}

/// What timers keep for a coordinator.
struct TimersState: Emptiable, Sendable {
    var all: [OwnTimer] = []

    var isEmpty: Bool { all.isEmpty }
}

extension CoordinatorCell.State {
    var timers: TimersState {
        get { extras.features[TimersState.self] }
        _modify { yield &extras.features[TimersState.self] }
    }

    fileprivate var hasTimers: Bool { hasExtras && !timers.isEmpty }
}

// MARK: - Timers, as a coordinator sets them

extension CoordinatorContext {
    /// Calls a closure again and again, isolated to the coordinator, until the timer is cancelled or the coordinator stops.
    ///
    ///     context.every(.seconds(60)) { me in try await me.sweep() }
    ///
    /// The first call is due after one interval, and each later one a whole number of intervals after that, by the monotonic clock: calls
    /// don't drift. A call never begins while the former one runs: what was due meanwhile is skipped, and the next call begins at the next
    /// multiple of the interval. An error that a call throws is logged, and the calls go on. While the coordinator is paused, at most one
    /// call waits, which begins when it's resumed.
    ///
    /// The runtime cancels a call that runs when the coordinator stops, and waits for it within the grace. Timers end with the incarnation: a
    /// coordinator that needs one after a restart sets it in `start`.
    ///
    /// - Parameters:
    ///   - interval: The time from one call to the next; at least a millisecond.
    ///   - body: The closure.
    /// - Returns: The timer. Cancelling it is the only use; it needn't be kept.
    @discardableResult
    public func every(
        _ interval: Duration,
        _ body: @escaping @Sendable (isolated C) async throws -> Void
    ) -> CoordinatorTimer {
        let interval = max(interval, .milliseconds(1))
        return cell.schedule(after: interval, every: interval) { try await body(MessageRow.cast($0)) }
    }

    /// Calls a closure once, isolated to the coordinator, unless the timer is cancelled or the coordinator stops before.
    ///
    /// An error that the closure throws is logged. While the coordinator is paused, a call that is due waits until it's resumed.
    ///
    /// - Parameters:
    ///   - delay: The time until the call, by the monotonic clock; zero or less: at once.
    ///   - body: The closure.
    /// - Returns: The timer. Cancelling it is the only use; it needn't be kept.
    @discardableResult
    public func after(
        _ delay: Duration,
        _ body: @escaping @Sendable (isolated C) async throws -> Void
    ) -> CoordinatorTimer {
        cell.schedule(after: delay, every: nil) { try await body(MessageRow.cast($0)) }
    }

    /// Starts a task that belongs to the coordinator: the runtime cancels it when the coordinator stops, and waits for it within the grace.
    ///
    /// The asks of the task have deadlines of their own, whatever handler starts it.
    ///
    /// - Parameters:
    ///   - reaction: What an error that the task throws leads to; by default it's logged. An error after the cancellation by a stop leads
    ///     to nothing.
    ///   - operation: The task's body.
    public func task(onError reaction: TaskErrorReaction = .log, _ operation: @escaping @Sendable () async throws -> Void) {
        HandlerScope.perform(in: nil) {
            _ = cell.handle { [cell] in
                do {
                    try await operation()
                } catch {
                    if Task.isCancelled { return }
                    switch reaction {
                    case .log: cell.logger.warning("a task of the coordinator failed", metadata: ["error": "\(error)"])
                    case .fail: cell.end(.failed(.failed(String(describing: error))))
                    }
                }
            }
        }
    }
}

/// The way in which a coordinator reacts to an error of one of its tasks.
public enum TaskErrorReaction: Sendable, Hashable {
    /// The error is logged, and the coordinator goes on.
    case log
    /// The coordinator fails: supervision decides what follows, as if `run` had thrown the error.
    case fail
}

/// A call of a closure at a later time, once or again and again.
public struct CoordinatorTimer: Sendable {
    let timer: OwnTimer

    /// Cancels the calls that have not begun; one that runs goes on.
    ///
    /// A second call has no effect.
    public func cancel() { timer.cancel() }
}

// MARK: - The clock

/// The clock that a tree of coordinators lives by: the machine's monotonic clock, or in a test the time that the test moves.
///
/// A coordinator that sleeps by this clock, and not by `Task.sleep(for:)`, can be tested without waiting:
///
///     try await context.clock.sleep(for: .seconds(30))
public struct CoordinatorClock: Clock {
    /// A moment on the clock.
    public struct Instant: InstantProtocol, Hashable, Sendable {
        let time: MonotonicTime

        /// Returns the moment that comes a time later.
        public func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
        /// Returns the time from this moment to another.
        public func duration(to other: Instant) -> Duration { other.time - time }
        /// Returns whether a moment comes before another.
        public static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    private let time: TimeSource

    package init(_ time: TimeSource) { self.time = time }

    /// The present moment.
    public var now: Instant { Instant(time: time.now) }

    /// The time by which a sleep may be longer than was asked for.
    public var minimumResolution: Duration { .milliseconds(5) }

    /// Waits until a moment.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await time.sleep(until: deadline.time)
    }
}

extension CoordinatorContext {
    /// The clock that the tree lives by: that of the timers, deadlines and restarts.
    public var clock: CoordinatorClock { CoordinatorClock(cell.runtime.time) }
}
