/// The time that the steps of an end may take together, counted from the beginning of the first; it can be shortened meanwhile, never
/// lengthened.
///
/// The time doesn't count in which this process itself stands still.
package final class Grace: Sendable {
    private struct State {
        var limit: Duration?
        /// The limit after the latest shortening; `nil` without one.
        var haste: Duration?
        var step: OneShot<Bool>?
        /// The time at which the steps must have ended, set when the first step begins.
        var deadline: PatientDeadline?
        var timer: Timers.Timer?
    }

    private let time: TimeSource
    private let state: Lock<State>

    /// - Parameter limit: The time; `nil`: unlimited.
    package init(_ limit: Duration?, _ time: TimeSource = .monotonic) {
        self.time = time
        state = Lock(State(limit: limit))
    }

    /// Begins to count the time, before the first step.
    package func startClock() {
        state.withLock { state in
            if state.deadline == nil { state.deadline = state.limit.map { PatientDeadline($0, of: time) } }
        }
    }

    /// The time that is left; `nil`: unlimited.
    package var remaining: Duration? {
        state.withLock { state in state.deadline.map { max($0.left, .zero) } ?? state.limit }
    }

    /// Waits for a step of the end, whether the waiting task is cancelled or not; one step at a time.
    ///
    /// - Returns: False when the time ran out. The step goes on then, because code that ignores its cancellation can't be ended.
    package func within(_ step: @escaping @Sendable () async -> Void) async -> Bool {
        let ending = OneShot<Bool>()
        state.withLock { state in
            state.step = ending
            if state.deadline == nil { state.deadline = state.limit.map { PatientDeadline($0, of: time) } }
        }
        _ = Task.immediate(executorPreference: time.executor) {
            await step()
            ending.settle(true)
        }
        schedule()
        let isDone = await ending.value
        let timer = state.withLock { state in
            defer { (state.step, state.timer) = (nil, nil) }
            return state.timer
        }
        if let timer { time.cancel(timer) }
        return isDone
    }

    /// Shortens the time: from now on no step may take longer, neither the one under way nor a later one.
    package func shorten(to limit: Duration) {
        state.withLock { state in
            state.limit = min(state.limit ?? limit, limit)
            state.haste = min(state.haste ?? limit, limit)
            let shorter = PatientDeadline(limit, of: time)
            if state.deadline.map({ shorter.end < $0.end }) ?? (state.step != nil) { state.deadline = shorter }
        }
        schedule()
    }

    /// The time that the end may take now.
    package var limit: Duration? { state.withLock { $0.limit } }

    /// The time to which the end was shortened; `nil` if it wasn't.
    package var haste: Duration? { state.withLock { $0.haste } }

    private func schedule() {
        let (step, deadline) = state.withLock { ($0.step, $0.deadline) }
        guard let step, let deadline else { return }
        let timer = time.schedule(at: deadline.next) { [weak self] in self?.timePassed(in: step) }
        let former = state.withLock { state -> Timers.Timer? in
            // The step may be over, or the time may have been shortened since: then that caller schedules the timer.
            guard state.step === step, state.deadline?.next == deadline.next else { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        if let former { time.cancel(former) }
    }

    private func timePassed(in step: OneShot<Bool>) {
        let isOver = state.withLock { $0.step === step ? $0.deadline?.look() : nil }
        guard let isOver else { return }
        if isOver { step.settle(false) } else { schedule() }
    }
}
