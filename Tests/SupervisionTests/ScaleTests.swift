import Supervision
import SupervisionSimulation
import TestSupport
import Testing

/// 100,000 children must cost a hundred times what 1,000 cost: a quadratic step would take these tests minutes.
@Suite struct ScaleTests {
    static let count = rounds(short: 25_000, all: 100_000, long: 100_000)

    private func populate(_ supervisor: inout Supervisor, _ type: RestartType = .permanent) -> Int {
        var directives = 0
        for id in 0..<Self.count {
            directives += supervisor.handle(.startRequested(ChildSpecification(id: "\(id)", restart: type)), now: .zero).count
            directives += supervisor.handle(.started("\(id)", 1), now: .zero).count
        }
        return directives
    }

    @Test(arguments: [RestartType.permanent, .temporary]) func aShutdownStopsAllInReverse(type: RestartType) {
        var supervisor = Supervisor()
        #expect(populate(&supervisor, type) == 2 * Self.count)
        #expect(supervisor.count(in: .running) == Self.count)
        let directives = supervisor.settle(supervisor.handle(.shutdownRequested(.shutdown), now: .zero), now: .zero)
        let stopped = directives.compactMap { if case .stop(let id, _, _) = $0 { id } else { nil } }
        #expect(stopped == (0..<Self.count).reversed().map(String.init))
        #expect(directives.last == .terminated(.shutdown))
    }

    @Test func removalsInStartOrderAreCheap() {
        var supervisor = Supervisor()
        _ = populate(&supervisor)
        var removed = 0
        for id in (0..<Self.count).map(String.init) {
            _ = supervisor.handle(.removeRequested(id), now: .zero)
            if supervisor.handle(.exited(id, 1, .shutdown), now: .zero).last == .removed(id) { removed += 1 }
        }
        #expect(removed == Self.count)
        #expect(supervisor.ids == [])
    }

    @Test func allCanWaitAtTheSameTime() {
        var supervisor = Supervisor(policy: SupervisionPolicy(intensity: .max))
        _ = populate(&supervisor)
        var wakes = 0
        for id in (0..<Self.count).map(String.init) {
            _ = supervisor.handle(.exited(id, 1, .hung), now: .seconds(1))
            for case .wake in supervisor.handle(.startFailed(id, 2, .startTimedOut), now: .seconds(1)) { wakes += 1 }
        }
        #expect(supervisor.count(in: .waiting) == Self.count)
        // Only a deadline sooner than all before it is announced: chance makes that the logarithm of their number.
        #expect(wakes < 60)
        #expect(supervisor.handle(.timePassed, now: .seconds(2)).count == Self.count)
        #expect(supervisor.count(in: .starting) == Self.count)
    }

    @Test func allCanBeRestartedTogether() {
        var supervisor = Supervisor(policy: SupervisionPolicy(.oneForAll, intensity: 1))
        _ = populate(&supervisor)
        let directives = supervisor.settle(supervisor.handle(.exited("0", 1, .hung), now: .seconds(1)), now: .seconds(1))
        #expect(supervisor.count(in: .running) == Self.count)
        #expect(directives.count { $0.usualAnswer != nil } == 2 * Self.count - 1)
    }
}
