import TestSupport
import Testing
import WorkerLifecycleSimulation

@Suite struct WorkerSimulationTests {
    @Test func nothingIsBrokenInAFewThousandWorlds() {
        let (simulation, count) = (WorkerSimulation(), rounds(short: 500, all: 2_000, long: 20_000))
        var events = 0
        for seed in UInt64(0)..<UInt64(count) {
            let outcome = simulation.run(WorkerScenario(seed: seed))
            events += outcome.events
            guard let violation = outcome.violation else { continue }
            let steps = simulation.minimise(WorkerScenario(seed: seed)).steps.map { String($0.number) }.joined(separator: ",")
            Issue.record("supervision-simulator --workers --seed \(seed) --steps '\(steps)' --trace: \(violation)")
            return
        }
        #expect(events > 100 * count, "the worlds are too small")
    }

    @Test(arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func aSeedGoesTheSameWayEveryTime(seed: UInt64) {
        let first = WorkerSimulation().run(WorkerScenario(seed: seed), recordsTrace: true)
        let second = WorkerSimulation().run(WorkerScenario(seed: seed), recordsTrace: true)
        #expect(first.trace == second.trace)
        #expect(first.violation == second.violation)
        #expect(!first.trace.isEmpty)
    }

    @Test func nothingIsBrokenInAnyOrderOfAFewEvents() {
        var states = 0
        for exploration in WorkerExploration.all(events: 4) {
            let outcome = exploration.run()
            states += outcome.states
            #expect(outcome.violation == nil, "\(exploration): \(outcome.path)")
        }
        #expect(states > 4_000)
    }

    @Test func nothingIsBrokenInAnyOrderOfSeveralEventsInAPool() {
        var states = 0
        for exploration in PoolExploration.all(events: 8) {
            let outcome = exploration.run()
            states += outcome.states
            #expect(outcome.violation == nil, "\(exploration): \(outcome.path)")
        }
        #expect(states > 400)
    }

    @Test(arguments: [PlantedFault.losesAWake, .recyclesWithoutDraining, .ignoresARefusedTicket, .grantsNoTermination])
    func allOrdersShowAFaultToo(fault: PlantedFault) {
        #expect(WorkerExploration.all(events: 4, mutation: fault.mutations.worker).contains { $0.run().violation != nil })
    }
}
