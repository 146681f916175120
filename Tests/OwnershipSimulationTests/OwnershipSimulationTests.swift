import OwnershipSimulation
import SimulationSupport
import Testing

@Suite("Simulated worlds of ownership across nodes")
struct OwnershipSimulationTests {
    @Test("Nothing is broken in thousands of worlds")
    func worlds() {
        var events = 0
        for seed in UInt64(0)..<1_000 {
            let outcome = OwnershipSimulation().run(OwnershipScenario(seed: seed))
            events += outcome.events
            guard outcome.violation != nil else { continue }
            let minimal = OwnershipSimulation().minimise(OwnershipScenario(seed: seed))
            Issue.record("seed \(seed):\n\(OwnershipSimulation().run(minimal, recordsTrace: true).trace.joined(separator: "\n"))")
            return
        }
        #expect(events > 500_000, "the worlds are too small: \(events)")
    }

    @Test("A planted fault is found and minimised", arguments: OwnershipFault.allCases)
    func plantedFault(fault: OwnershipFault) throws {
        let simulation = OwnershipSimulation(fault: fault)
        let found = (0..<2_000).first { simulation.run(OwnershipScenario(seed: $0)).violation != nil }
        let scenario = OwnershipScenario(seed: try #require(found, "\(fault) wasn't found"))
        let violation = try #require(simulation.run(scenario).violation)
        let minimal = simulation.minimise(scenario)
        #expect(simulation.run(minimal).violation?.invariant == violation.invariant)
        #expect(OwnershipSimulation().run(scenario).violation == nil)
        print("\(fault): \(scenario.seed + 1) seed(s); \(violation); \(scenario.steps.count) steps, \(minimal.steps.count) needed")
    }

    @Test("A seed goes the same way every time", arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func determinism(seed: UInt64) {
        let first = OwnershipSimulation().run(OwnershipScenario(seed: seed), recordsTrace: true)
        #expect(first.trace == OwnershipSimulation().run(OwnershipScenario(seed: seed), recordsTrace: true).trace)
        #expect(!first.trace.isEmpty)
    }
}
