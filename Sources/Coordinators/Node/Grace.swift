import ConcurrencySupport

/// How long the steps of an end may take, all together, from the first one's beginning: it can become shorter meanwhile, never longer.
final class Grace: Sendable {
    private struct State {
        var limit: Duration?
        /// What the limit was shortened to.
        var haste: Duration?
        var step: OneShot<Bool>?
        /// Set when the first step begins.
        var deadline: MonotonicTime?
        var timer: Timers.Timer?
    }

    private let state: Lock<State>

    /// - Parameter limit: `nil`: as long as it takes.
    init(_ limit: Duration?) { state = Lock(State(limit: limit)) }

    /// Waits for a step of the end, whether the waiting task is cancelled or not; one step at a time.
    ///
    /// - Returns: false when the time ran out. The step goes on then; nothing can be done about code that ignores its cancellation.
    func within(_ step: @escaping @Sendable () async -> Void) async -> Bool {
        let ending = OneShot<Bool>()
        state.withLock { state in
            state.step = ending
            if state.deadline == nil { state.deadline = state.limit.map { .now + $0 } }
        }
        _ = Task.immediate {
            await step()
            ending.settle(true)
        }
        schedule()
        let isDone = await ending.value
        let timer = state.withLock { state in
            defer { (state.step, state.timer) = (nil, nil) }
            return state.timer
        }
        if let timer { Timers.shared.cancel(timer) }
        return isDone
    }

    /// From now on no step may take longer, neither the one that is under way nor one that comes.
    func shorten(to limit: Duration) {
        state.withLock { state in
            state.limit = min(state.limit ?? limit, limit)
            state.haste = min(state.haste ?? limit, limit)
            if state.step != nil || state.deadline != nil { state.deadline = min(state.deadline ?? .distantFuture, .now + limit) }
        }
        schedule()
    }

    /// How long an end may take now.
    var limit: Duration? { state.withLock { $0.limit } }

    /// What it was shortened to, if it was.
    var haste: Duration? { state.withLock { $0.haste } }

    private func schedule() {
        let (step, deadline) = state.withLock { ($0.step, $0.deadline) }
        guard let step, let deadline else { return }
        let timer = Timers.shared.schedule(at: deadline) { step.settle(false) }
        let former = state.withLock { state -> Timers.Timer? in
            // It may be over, or have been shortened since: then whoever has done that schedules it.
            guard state.step === step, state.deadline == deadline else { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        if let former { Timers.shared.cancel(former) }
    }
}
