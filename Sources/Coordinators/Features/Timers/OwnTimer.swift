import ConcurrencySupport
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
    func arm(for node: Node) {
        state.withLock { state in
            guard case .waiting = state.phase else { return }
            state.phase = .waiting(time.schedule(at: state.due) { [weak node] in node?.fire(self) })
        }
    }

    /// Notes that the call is due and has to wait.
    func hold() {
        state.withLock { if case .waiting = $0.phase { $0.phase = .held } }
    }

    /// Notes that the call begins.
    ///
    /// - Returns: False when the timer has been cancelled.
    func begin() -> Bool {
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

extension Node {
    /// Schedules calls of a closure, until the coordinator stops.
    func schedule(after delay: Duration, every interval: Duration?, _ body: @escaping OwnTimer.Body) -> CoordinatorTimer {
        let timer = OwnTimer(after: delay, every: interval, by: runtime.time, body)
        let isAccepted = state.withLock { state -> Bool in
            guard state.life.phase == .starting || state.life.phase == .active else { return false }
            state.extras.timers.removeAll(where: \.hasEnded)
            state.extras.timers.append(timer)
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
        let held = state.withLock { $0.hasTimers ? $0.extras.timers.filter(\.isHeld) : [] }
        for timer in held { call(timer) }
    }

    private func call(_ timer: OwnTimer) {
        guard timer.begin() else { return }
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
        state.withLock { $0.extras.timers.removeAll { $0 === timer } }
    }

    /// Cancels the timers of a coordinator that has stopped.
    func cancelTimers() {
        let timers = state.withLock { state -> [OwnTimer] in
            guard state.hasTimers else { return [] }
            defer { state.extras.timers = [] }
            return state.extras.timers
        }
        for timer in timers { timer.cancel() }
    }
}

extension Node.State {
    fileprivate var hasTimers: Bool { !extras.timers.isEmpty }
}
