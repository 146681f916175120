import SimulationSupport
import WorkerLifecycle

/// A pool of spares in an exploration.
package struct PoolState: Explorable {
    /// An event, and when it comes.
    package struct Move: CustomStringConvertible {
        let event: SparePoolMachine.Event
        /// The time since the event before.
        let delay: Duration

        package var description: String { delay == .zero ? "\(event)" : "\(event), after \(delay)" }
    }

    private struct Signature: Hashable {
        let checker: PoolChecker
        let deaths: Int
        let fillTime: Duration?
        let stages: [SparePoolMachine.Stage]
    }

    private var subject: PoolSubject
    private var checker: PoolChecker
    private var now = Duration.seconds(1_000)

    /// Returns the explorations of pools of one and of two spares.
    package static func all() -> [Exploration<PoolState>] {
        [1, 2].map { Exploration("a pool of \($0) spare(s)", from: PoolState($0), after: []) }
    }

    private init(_ target: Int) {
        subject = PoolSubject(machine: SparePoolMachine(target: target), mutation: nil)
        checker = PoolChecker(target: target)
    }

    package var key: some Hashable {
        Signature(
            checker: checker.normalised(at: now),
            // From the ninth on the delay is the same.
            deaths: min(subject.machine.deaths, 9),
            fillTime: subject.machine.fillTime.map { $0 - now },
            stages: subject.machine.stages.sorted { $0.key < $1.key }.map(\.value)
        )
    }

    package mutating func make(_ move: Move) throws(WorkerViolation) {
        now += move.delay
        try checker.enter(move.event, subject.handle(move.event, now: now), now: now)
    }

    package var moves: [Move] {
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
