import SimulationSupport
import TestSupport
import Testing
import WorkerLifecycleSimulation

@Suite struct AdoptionSimulationTests {
    @Test func nothingIsBrokenInThousandsOfWorlds() {
        let count = rounds(short: 3_000, all: 20_000, long: 100_000)
        var events = 0
        if let finding = AdoptionSimulation().check(0..<UInt64(count), events: &events) { Issue.record("\(finding)") }
        #expect(events > 10 * count, "the worlds are too small: \(events)")
    }

    @Test(arguments: AdoptionFault.allCases)
    func aPlantedFaultIsFoundAndMinimised(fault: AdoptionFault) throws {
        var events = 0
        let finding = try #require(AdoptionSimulation(fault).check(0..<500, events: &events), "\(fault) was not found")
        #expect(finding.flaws == [])
        print("\(fault): \(finding.summary)")
    }

    @Test(arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func aSeedGoesTheSameWayEveryTime(seed: UInt64) {
        let outcome = AdoptionSimulation().run(AdoptionScenario(seed: seed), recordsTrace: true)
        #expect(outcome.trace == AdoptionSimulation().run(AdoptionScenario(seed: seed), recordsTrace: true).trace)
        #expect(!outcome.trace.isEmpty)
    }
}
