import SimulationSupport
import TestSupport
import Testing
import WorkerLifecycleSimulation

@Suite struct WorkerSimulationTests {
    @Test func nothingIsBrokenInAFewThousandWorlds() {
        let count = rounds(short: 500, all: 2_000, long: 20_000)
        var events = 0
        if let finding = WorkerSimulation().check(0..<UInt64(count), events: &events) { Issue.record("\(finding)") }
        #expect(events > 100 * count, "the worlds are too small")
    }

    @Test(arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func aSeedGoesTheSameWayEveryTime(seed: UInt64) {
        let outcome = WorkerSimulation().run(WorkerScenario(seed: seed), recordsTrace: true)
        #expect(outcome.trace == WorkerSimulation().run(WorkerScenario(seed: seed), recordsTrace: true).trace)
        #expect(!outcome.trace.isEmpty)
    }

    @Test func nothingIsBrokenInAnyOrderOfAFewEvents() {
        #expect(states(WorkerState.all(), events: 4) > 4_000)
        #expect(states(PoolState.all(), events: 8) > 400)
    }

    private func states<State: Explorable>(_ explorations: [Exploration<State>], events: Int) -> Int {
        explorations.reduce(0) { sum, exploration in
            let outcome = exploration.run(events: events)
            #expect(outcome.violation == nil, "\(exploration): \(outcome.path)")
            return sum + outcome.states
        }
    }
}
