import Supervision
import SupervisionSimulation
import TestSupport
import Testing

/// Long walks through everything that can happen, in any order, likely or not.
///
/// A walk prints its seed, which replays it.
@Suite struct RandomWalkTests {
    /// Two that have found something, some that stay, and one that is another each time.
    static let seeds: [UInt64] =
        [4_112_305_096_566_866_916, 8_526_029_023_486_289_838, .random(in: 1_000 ... .max)]
        + (0..<rounds(short: 1, all: 15, long: 150)).map { UInt64($0) + 1 }

    @Test(arguments: Strategy.allCases, seeds)
    func tenThousandEvents(strategy: Strategy, seed: UInt64) {
        var dice = SeededGenerator(seed: seed, "RandomWalkTests: \(strategy)")
        var events = 0
        let kinds: Set = [
            "start", "stop", "started", "removed", "restarting", "gaveUp", "escalate", "terminated", "autoShutdown", "refused",
        ]
        var met: Set<String> = []
        // A walk without one of the kinds proves little. Some are rare: the walk goes on until it has met them all.
        while events < 10_000 || (events < 200_000 && !kinds.isSubset(of: met)) {
            let policy = SupervisionPolicy(
                strategy,
                intensity: [0, 1, 3, 10, 60].randomElement(using: &dice) ?? 0,
                period: .seconds(.random(in: 1...60, using: &dice)),
                backoff: Backoff(resetAfter: .seconds(.random(in: 0...10, using: &dice))),
                autoShutdown: AutoShutdown.allCases.randomElement(using: &dice) ?? .never
            )
            var world = Observed(policy, seed: dice.next())
            for _ in 0..<500 where world.complaint == nil && !world.isOver {
                step(&world, &dice)
                events += 1
            }
            world.bringToAnEnd()
            if let complaint = world.complaint {
                Issue.record("seed \(seed), event \(events), \(policy): \(complaint)")
                return
            }
            met.formUnion(world.kinds)
        }
        #expect(kinds.subtracting(met) == [])
    }

    private func step(_ world: inout Observed, _ dice: inout SeededGenerator) {
        let id = Place.ids.randomElement(using: &dice) ?? ""
        let incarnation = world.incarnation(id)
        world.now += .milliseconds(Int.random(in: 0...400, using: &dice))
        switch Int.random(in: 0..<1_000, using: &dice) {
        case 0..<250:
            world.answer(at: Int.random(in: 0..<60, using: &dice), reason(&dice), succeeds: Bool.random(using: &dice))
        case 250..<400: world.send(.started(id, incarnation))
        case 400..<450: world.send(.exited(id, incarnation, reason(&dice)))
        case 450..<480: world.send(.exited(id, incarnation &- .random(in: 1...2, using: &dice), reason(&dice)))
        case 480..<510: world.send(.started(id, incarnation &- 1))
        case 510..<650:
            world.send(.startRequested(child(id, &dice)))
        case 650..<690: world.send(.stopRequested(id))
        case 690..<720: world.send(.removeRequested(id))
        case 720..<760: world.send(.restartRequested(id))
        case 760..<780: world.send(.policyChanged(world.supervisor.policy))
        case 780..<781: world.send(.shutdownRequested(.shutdown))
        case 781..<785: world.send(.finished(id, incarnation))
        case 785..<795: world.send(.specificationChanged(child(id, &dice)))
        case 795..<800: world.send(.timePassed)
        default:
            // The wake comes at its time, or late.
            if let wake = world.wake { world.now = max(world.now, wake) }
            world.send(.timePassed)
        }
    }

    private func child(_ id: String, _ dice: inout SeededGenerator) -> Child {
        let restart = RestartType.allCases.randomElement(using: &dice) ?? .permanent
        return Child(id: id, restart: restart, isSignificant: Int.random(in: 0..<4, using: &dice) == 0)
    }

    private func reason(_ dice: inout SeededGenerator) -> ExitReason {
        let reasons: [ExitReason] = [.normal, .shutdown, .failed("x"), .exited(code: 0), .exited(code: 1), .hung, .unknown, .signaled(9)]
        if Int.random(in: 0..<20, using: &dice) == 0 { return .exited(code: 78) }
        return reasons.randomElement(using: &dice) ?? .normal
    }
}
