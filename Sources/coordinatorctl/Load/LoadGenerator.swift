import ConcurrencySupport
import Control

/// The failure of one ask of a load.
struct LoadFailure: Error {
    var error: ControlError
    /// Whether no later ask can succeed.
    var isFinal = false
}

/// A generator of load: it asks at a pace and measures each ask from the time at which it was due.
///
/// When all asks that may be open are open, the next one is late, and its latency contains the delay. A measurement from the time at
/// which an ask was sent would leave out what a slow answer does to the asks after it (coordinated omission; Gil Tene, "How not to
/// measure latency", https://github.com/giltene/wrk2#acknowledgements).
final class LoadGenerator: Sendable {
    /// Asks once; returns the time that the daemon waited for the reply, if it waits for one.
    typealias Ask = @Sendable () async throws(LoadFailure) -> Duration?

    /// An ask and its time.
    private struct Turn {
        let due: ContinuousClock.Instant
        let isMeasured: Bool
    }

    private enum Ended {
        case asker, watcher
    }

    private struct State {
        var next = 0
        var figures = LoadFigures()
        /// The error after which no ask can succeed.
        var fatal: ControlError?
        /// The time at which the last measured ask ended.
        var lastEnd: ContinuousClock.Instant?
    }

    private let pace: LoadPace
    private let concurrency: Int
    private let patience: Duration
    private let ask: Ask
    private let state = Lock(State())
    private let start = ContinuousClock.now

    /// Creates a generator, whose time begins now.
    ///
    /// - Parameters:
    ///   - concurrency: the greatest number of open asks.
    ///   - patience: the time after the end of the pace in which asks that are late are still made and waited for.
    ///   - ask: makes one ask.
    init(_ pace: LoadPace, concurrency: Int, patience: Duration, ask: @escaping Ask) {
        self.pace = pace
        self.concurrency = concurrency
        self.patience = patience
        self.ask = ask
    }

    /// The figures so far.
    var figures: LoadFigures { state.withLock { $0.figures } }

    /// The time since the start.
    var age: Duration { start.duration(to: .now) }

    /// The error that ended the load before its time.
    var fatalError: ControlError? { state.withLock { $0.fatal } }

    /// Asks until the pace has ended and every ask has, or the patience is over, or the watcher returns.
    ///
    /// - Parameter watch: runs beside the asks; its return ends the load.
    /// - Returns: the figures of the asks that were due by then.
    @concurrent
    func run(watch: @escaping @Sendable () async -> Void) async -> LoadFigures {
        let wasInterrupted = await withTaskGroup(of: Ended.self) { group in
            for _ in 0..<concurrency {
                group.addTask {
                    await self.askInTurns()
                    return .asker
                }
            }
            group.addTask {
                await watch()
                return .watcher
            }
            group.addTask {
                try? await Task.sleep(until: self.start + self.pace.end + self.patience, tolerance: .zero, clock: .continuous)
                return .watcher
            }
            var asking = concurrency
            while asking > 0, case .asker? = await group.next() { asking -= 1 }
            group.cancelAll()
            return asking > 0 || fatalError != nil
        }
        return finish(wasInterrupted)
    }

    private func askInTurns() async {
        while fatalError == nil, let turn = nextTurn() {
            if turn.due > .now { try? await Task.sleep(until: turn.due, tolerance: .zero, clock: .continuous) }
            if Task.isCancelled { return end(turn, nil) }
            do throws(LoadFailure) {
                let time = try await ask()
                end(turn, .success(time))
            } catch {
                // The end of the load has cancelled the ask.
                end(turn, Task.isCancelled ? nil : .failure(error))
            }
        }
    }

    private func nextTurn() -> Turn? {
        switch pace {
        case .saturating(let duration):
            return age < duration && !Task.isCancelled ? Turn(due: .now, isMeasured: true) : nil
        case .scheduled(let schedule):
            let age = age
            let number = state.withLock { state in
                // What is still to be asked of a ramp that is over would only delay what is measured.
                if age >= schedule.ramp { state.next = max(state.next, schedule.firstMeasured) }
                defer { state.next += 1 }
                return state.next
            }
            return turn(number, schedule)
        }
    }

    private func turn(_ number: Int, _ schedule: LoadSchedule) -> Turn? {
        schedule.due(number).map { Turn(due: start + $0, isMeasured: schedule.isMeasured($0)) }
    }

    /// Counts the ask of a turn; a nil outcome means that the load ended first.
    private func end(_ turn: Turn, _ outcome: Result<Duration?, LoadFailure>?) {
        let now = ContinuousClock.now
        let latency = turn.due.duration(to: now)
        state.withLock { state in
            if case .failure(let failure)? = outcome, failure.isFinal { state.fatal = state.fatal ?? failure.error }
            // The load may end before the ask is due.
            guard turn.isMeasured, turn.due <= now else { return }
            switch outcome {
            case .success(let time)?: state.figures.countAnswer(after: latency, inTree: time)
            case .failure(let failure)?: state.figures.countFailure(failure.error, after: latency)
            case nil: state.figures.countUnanswered(after: latency)
            }
            state.lastEnd = now
        }
    }

    /// Counts the asks that were due and whose turn hasn't come, and returns the figures.
    private func finish(_ wasInterrupted: Bool) -> LoadFigures {
        let now = ContinuousClock.now
        return state.withLock { state in
            if case .scheduled(let schedule) = pace {
                while let turn = turn(state.next, schedule), turn.due <= now {
                    state.next += 1
                    if turn.isMeasured { state.figures.countUnanswered(after: turn.due.duration(to: now)) }
                }
            }
            // The time that late answers took counts: they are no part of the rate while it was measured.
            let end = wasInterrupted ? now : max(start + pace.end, state.lastEnd ?? now)
            state.figures.elapsed = max(.zero, (start + pace.measuredFrom).duration(to: end))
            return state.figures
        }
    }
}
