import TestSupport
import Testing
import WorkerLifecycleSimulation

@Suite struct AdoptionSimulationTests {
    @Test func nothingIsBrokenInThousandsOfWorlds() {
        let count = rounds(short: 3_000, all: 20_000, long: 100_000)
        var events = 0
        for seed in UInt64(0)..<UInt64(count) {
            let outcome = AdoptionSimulation().run(AdoptionScenario(seed: seed))
            events += outcome.events
            guard outcome.violation != nil else { continue }
            let minimal = AdoptionSimulation().minimise(AdoptionScenario(seed: seed))
            Issue.record("seed \(seed):\n\(AdoptionSimulation().run(minimal, recordsTrace: true).trace.joined(separator: "\n"))")
            return
        }
        #expect(events > 10 * count, "the worlds are too small: \(events)")
    }

    @Test(arguments: AdoptionFault.allCases)
    func aPlantedFaultIsFoundAndMinimised(fault: AdoptionFault) throws {
        let simulation = AdoptionSimulation(fault: fault)
        let seed = try #require((0..<500).first { simulation.run(AdoptionScenario(seed: $0)).violation != nil }, "\(fault) was not found")
        let scenario = AdoptionScenario(seed: seed)
        let found = try #require(simulation.run(scenario).violation)
        let minimal = simulation.minimise(scenario)
        #expect(simulation.run(minimal).violation?.invariant == found.invariant)
        #expect(AdoptionSimulation().run(scenario).violation == nil)
        print("\(fault): \(seed + 1) seed(s); \(found); \(scenario.steps.count) steps, \(minimal.steps.count) needed")
    }

    @Test(arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func aSeedGoesTheSameWayEveryTime(seed: UInt64) {
        let first = AdoptionSimulation().run(AdoptionScenario(seed: seed), recordsTrace: true)
        #expect(first.trace == AdoptionSimulation().run(AdoptionScenario(seed: seed), recordsTrace: true).trace)
        #expect(!first.trace.isEmpty)
    }
}
