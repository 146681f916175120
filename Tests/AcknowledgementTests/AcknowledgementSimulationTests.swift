import AcknowledgementSimulation
import SimulationSupport
import TestSupport
import Testing

@Suite("Simulated worlds of acknowledged messages")
struct AcknowledgementSimulationTests {
    @Test("Nothing is broken in thousands of worlds")
    func worlds() {
        let count = rounds(short: 3_000, all: 20_000, long: 100_000)
        var events = 0
        if let finding = AcknowledgementSimulation().check(0..<UInt64(count), events: &events) { Issue.record("\(finding)") }
        #expect(events > 25 * count, "the worlds are too small: \(events)")
    }

    @Test("The death of the process between is survived after each single event")
    func deaths() {
        var (runs, events) = (0, 0)
        for seed in UInt64(0)..<UInt64(rounds(short: 20, all: 200, long: 5_000)) {
            var scenario = AcknowledgementScenario(seed: seed)
            for event in 1...max(AcknowledgementSimulation().run(scenario).events, 1) {
                scenario.rootDeath = event
                runs += 1
                guard let finding = AcknowledgementSimulation().check(scenario, events: &events) else { continue }
                Issue.record("death after event \(event): \(finding)")
                return
            }
        }
        #expect(runs > 500, "\(runs) runs")
    }

    @Test("A planted fault is found and minimised", arguments: AcknowledgementFault.allCases)
    func plantedFault(fault: AcknowledgementFault) throws {
        var events = 0
        let finding = try #require(AcknowledgementSimulation(fault).check(0..<2_000, events: &events), "\(fault) wasn't found")
        #expect(finding.flaws == [])
        print("\(fault): \(finding.summary)")
    }

    @Test("A seed goes the same way every time", arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func determinism(seed: UInt64) {
        let outcome = AcknowledgementSimulation().run(AcknowledgementScenario(seed: seed), recordsTrace: true)
        #expect(outcome.trace == AcknowledgementSimulation().run(AcknowledgementScenario(seed: seed), recordsTrace: true).trace)
    }
}
