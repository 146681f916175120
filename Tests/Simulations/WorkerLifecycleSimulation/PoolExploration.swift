import WorkerLifecycle

/// All that can happen to a pool of spares in a few events, in every order; see ``WorkerExploration``.
package struct PoolExploration: CustomStringConvertible {
    let target: Int
    let events: Int
    var mutation: (() -> PoolSubject.Mutation)?

    /// The number of spares that are to wait, in words.
    package var description: String { "a pool of \(target) spare(s)" }

    /// Returns the explorations of pools of one and of two spares.
    package static func all(events: Int, mutation: (() -> PoolSubject.Mutation)? = nil) -> [PoolExploration] {
        [1, 2].map { PoolExploration(target: $0, events: events, mutation: mutation) }
    }

    /// Looks at all states, those that are fewer events away first.
    package func run(progress: (_ depth: Int, _ states: Int) -> Void = { _, _ in }) -> ExplorationOutcome {
        explore(PoolState(target, mutation?()), events: events, progress: progress)
    }
}

/// A pool in an exploration.
private struct PoolState: Explorable {
    struct Move: CustomStringConvertible {
        let event: SparePoolMachine.Event
        /// The time since the event before.
        let delay: Duration

        var description: String { delay == .zero ? "\(event)" : "\(event), after \(delay)" }
    }

    struct Key: Hashable {
        let checker: PoolChecker
        let deaths: Int
        let fillTime: Duration?
        let stages: [SparePoolMachine.Stage]
    }

    private var subject: PoolSubject
    private var checker: PoolChecker
    private var now = Duration.seconds(1_000)

    init(_ target: Int, _ mutation: PoolSubject.Mutation?) {
        subject = PoolSubject(machine: SparePoolMachine(target: target), mutation: mutation)
        checker = PoolChecker(target: target)
    }

    var key: Key {
        Key(
            checker: checker.normalised(at: now),
            // From the ninth on the delay is the same.
            deaths: min(subject.machine.deaths, 9),
            fillTime: subject.machine.fillTime.map { $0 - now },
            stages: subject.machine.stages.sorted { $0.key < $1.key }.map(\.value)
        )
    }

    mutating func make(_ move: Move) throws(WorkerViolation) {
        now += move.delay
        try checker.enter(move.event, subject.handle(move.event, now: now), now: now)
    }

    var moves: [Move] {
        var events: [SparePoolMachine.Event] = [
            .fillRequested(after: .zero), .fillRequested(after: .seconds(1)), .closeRequested, .timePassed,
        ]
        for (id, stage) in checker.stages.sorted(by: { $0.key < $1.key }) {
            switch stage {
            case .waitingForTurn: events.append(.turnCame(id))
            case .launching: events += [.launched(id), .launchFailed(id), .ended(id)]
            case .idle: events += [.taken(id), .aged(id), .ended(id)]
            case .ending: events += [.ended(id), .launched(id)]
            }
        }
        var moves = events.map { Move(event: $0, delay: .zero) }
        if let wake = checker.wake, wake > now { moves.append(Move(event: .timePassed, delay: wake - now)) }
        return moves
    }
}
