import OwnershipSimulation
import SimulationSupport
import Testing

@Suite("Simulated worlds of ownership across nodes")
struct OwnershipSimulationTests {
    @Test("Nothing is broken in thousands of worlds")
    func worlds() {
        var events = 0
        if let finding = OwnershipSimulation().check(0..<1_000, events: &events) { Issue.record("\(finding)") }
        #expect(events > 500_000, "the worlds are too small: \(events)")
    }

    @Test("A planted fault is found and minimised", arguments: OwnershipFault.allCases)
    func plantedFault(fault: OwnershipFault) throws {
        var events = 0
        let finding = try #require(OwnershipSimulation(fault).check(0..<2_000, events: &events), "\(fault) wasn't found")
        #expect(finding.flaws == [])
        print("\(fault): \(finding.summary)")
    }

    @Test("A seed goes the same way every time", arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func determinism(seed: UInt64) {
        let outcome = OwnershipSimulation().run(OwnershipScenario(seed: seed), recordsTrace: true)
        #expect(outcome.trace == OwnershipSimulation().run(OwnershipScenario(seed: seed), recordsTrace: true).trace)
        #expect(!outcome.trace.isEmpty)
    }
}
