import Synchronization

/// How long the steps of an end may take together: it can become shorter while the end is under way, never longer.
final class Grace: Sendable {
    private struct State {
        /// What is left.
        var limit: Duration?
        /// What it was shortened to.
        var haste: Duration?
        var step: Ending<Bool>?
        var deadline = MonotonicTime.distantFuture
        var timer: Timers.Timer?
    }

    private let state: Mutex<State>

    /// - Parameter limit: `nil`: as long as it takes.
    init(_ limit: Duration?) { state = Mutex(State(limit: limit)) }

    /// Waits for a step of the end, whether the waiting task is cancelled or not; one step at a time.
    ///
    /// - Returns: false when the time ran out. The step goes on then; nothing can be done about code that ignores its cancellation.
    func within(_ step: @escaping @Sendable () async -> Void) async -> Bool {
        let ending = Ending<Bool>()
        let limit = state.withLock { state in
            state.step = ending
            state.deadline = .distantFuture
            return state.limit
        }
        if let limit { end(ending, within: limit) }
        _ = Task.immediate {
            await step()
            ending.settle(true)
        }
        let isDone = await ending.value
        let timer = state.withLock { state in
            defer { (state.step, state.timer) = (nil, nil) }
            // One budget for all: whoever waits for a worker sends it SIGTERM when that is spent.
            if state.limit != nil { state.limit = max(.zero, state.deadline - .now) }
            return state.timer
        }
        if let timer { Timers.shared.cancel(timer) }
        return isDone
    }

    /// From now on no more is left than this, for the step that is under way and those that come.
    func shorten(to limit: Duration) {
        let step = state.withLock { state in
            state.limit = min(state.limit ?? limit, limit)
            state.haste = min(state.haste ?? limit, limit)
            return state.step
        }
        if let step { end(step, within: limit) }
    }

    /// How long the steps that come may take.
    var limit: Duration? { state.withLock { $0.limit } }

    /// What it was shortened to, if it was.
    var haste: Duration? { state.withLock { $0.haste } }

    private func end(_ step: Ending<Bool>, within limit: Duration) {
        let deadline = MonotonicTime.now + limit
        let isSooner = state.withLock { state -> Bool in
            guard state.step === step, deadline < state.deadline else { return false }
            state.deadline = deadline
            return true
        }
        guard isSooner else { return }
        let timer = Timers.shared.schedule(at: deadline) { step.settle(false) }
        let former = state.withLock { state -> Timers.Timer? in
            // It may be over, or shorter still: a timer too many does no harm, for a step is settled once.
            guard state.step === step else { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        if let former { Timers.shared.cancel(former) }
    }
}
