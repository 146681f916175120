import DequeModule
import HeapModule

/// A time that passes only when a test moves it, with the executor of all tasks that live by it.
///
/// One thread runs the tasks, in the order in which they become ready, and the timers. A timer fires only when no task is ready: what an
/// earlier timer has led to is over by then. So one order of events follows from one order of calls.
///
/// The type is public, its members aren't: see ``TimeSource``.
public final class VirtualTime: TaskExecutor {
    fileprivate struct Due: Comparable {
        let time: MonotonicTime
        /// Timers of one time fire in the order in which they were scheduled.
        let number: Int

        static func < (left: Self, right: Self) -> Bool { (left.time, left.number) < (right.time, right.number) }
    }

    fileprivate struct Move {
        let target: MonotonicTime
        let end: CheckedContinuation<Void, Never>
    }

    fileprivate enum Step {
        case run(UnownedJob)
        case fire(Timers.Timer)
        case finish(Move)
    }

    fileprivate struct State {
        var now = MonotonicTime(nanoseconds: 0)
        var jobs: Deque<UnownedJob> = []
        var timers: [Int: Timers.Timer] = [:]
        /// The times of all timers, those included that were cancelled.
        var order = Heap<Due>()
        var number = 0
        var seed: UInt64 = 0
        /// The moves that were asked for, the one under way first.
        var moves: Deque<Move> = []
        /// Whether time passes by itself: to the next timer whenever no task is ready.
        var passes = false
        /// Whether a thread runs the tasks.
        var isRunning = false
    }

    private let state = Lock(State())

    package init() {}

    @usableFromInline package var now: MonotonicTime { state.withLock { $0.now } }

    package func nextSeed() -> UInt64 {
        state.withLock { state in
            state.seed += 1
            return state.seed
        }
    }

    /// Moves the time, and returns when it has passed and no task is ready.
    ///
    /// Moves come one after the other.
    package func move(by duration: Duration) async {
        await withCheckedContinuation { continuation in
            mutate { state in
                let start = max(state.moves.last?.target ?? state.now, state.now)
                state.moves.append(Move(target: start + max(duration, .zero), end: continuation))
                return true
            }
        }
    }

    /// Lets the time pass by itself from now on, or no more: to the next timer whenever no task is ready.
    package func letPass(_ passes: Bool) {
        mutate { state in
            state.passes = passes
            return passes
        }
    }

    func schedule(at time: MonotonicTime, _ fire: @escaping @Sendable () -> Void) -> Timers.Timer {
        mutate { state in
            state.number += 1
            let timer = Timers.Timer(bucket: 0, index: state.number, fire: fire)
            state.timers[state.number] = timer
            state.order.insert(Due(time: time, number: state.number))
            return (timer, state.passes || time <= state.now)
        }
    }

    func cancel(_ timer: Timers.Timer) {
        // The closure is released outside the lock.
        _ = state.withLock { $0.timers.removeValue(forKey: timer.number) }
    }

    /// Adds a task's next part to those that are ready.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        mutate { state in
            state.jobs.append(job)
            return true
        }
    }

    private func mutate(_ change: (inout sending State) -> Bool) { mutate { ((), change(&$0)) } }

    /// Changes the state, and sees to it that a thread runs if there may be something to do.
    private func mutate<Result: Sendable>(_ change: (inout sending State) -> (Result, hasWork: Bool)) -> Result {
        let (result, mustStart) = state.withLock { state in
            let (result, hasWork) = change(&state)
            let mustStart = hasWork && !state.isRunning
            if mustStart { state.isRunning = true }
            return (result, mustStart)
        }
        if mustStart {
            let hasStarted = DetachedThread.run { self.run() }
            precondition(hasStarted, "the tasks of a test need a thread, and none can be made")
        }
        return result
    }

    private func run() {
        while let step = state.withLock({ $0.next() }) {
            switch step {
            case .run(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .fire(let timer): timer.fire()
            case .finish(let move): move.end.resume()
            }
        }
    }
}

extension VirtualTime.State {
    /// Takes what is to be done next; `nil`: nothing, and the thread ends.
    fileprivate mutating func next() -> VirtualTime.Step? {
        if let job = jobs.popFirst() { return .run(job) }
        if let timer = takeTimer(until: passes ? .distantFuture : moves.first?.target ?? now) { return .fire(timer) }
        if let move = moves.popFirst() {
            now = max(now, move.target)
            return .finish(move)
        }
        isRunning = false
        return nil
    }

    private mutating func takeTimer(until limit: MonotonicTime) -> Timers.Timer? {
        while let due = order.min, due.time <= limit {
            order.removeMin()
            guard let timer = timers.removeValue(forKey: due.number) else { continue }
            now = max(now, due.time)
            return timer
        }
        return nil
    }
}
