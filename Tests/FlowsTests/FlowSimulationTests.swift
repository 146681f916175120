import FlowSimulation
import SimulationSupport
import TestSupport
import Testing

@Suite("Simulated worlds of durable flows")
struct FlowSimulationTests {
    @Test("Nothing is broken in thousands of worlds")
    func worlds() {
        let count = rounds(short: 2_000, all: 20_000, long: 100_000)
        var events = 0
        if let finding = FlowSimulation().check(0..<UInt64(count), events: &events) { Issue.record("\(finding)") }
        #expect(events > 15 * count, "the worlds are too small: \(events)")
    }

    @Test("The death of the process is survived at each single commit, before it's on disk and after")
    func deaths() {
        var (runs, events) = (0, 0)
        for seed in UInt64(0)..<UInt64(rounds(short: 20, all: 200, long: 5_000)) {
            var scenario = FlowScenario(seed: seed)
            scenario.death = nil
            for commit in 1...max(FlowSimulation().run(scenario).events, 1) {
                for isAfter in [false, true] {
                    scenario.death = FlowScenario.Death(commit: commit, isAfter: isAfter)
                    runs += 1
                    guard let finding = FlowSimulation().check(scenario, events: &events) else { continue }
                    Issue.record("death \(isAfter ? "after" : "before") commit \(commit): \(finding)")
                    return
                }
            }
        }
        #expect(runs > 500, "\(runs) runs")
    }

    @Test("A planted fault is found and minimised", arguments: FlowFault.allCases)
    func plantedFault(fault: FlowFault) throws {
        var events = 0
        let finding = try #require(FlowSimulation(fault).check(0..<2_000, events: &events), "\(fault) wasn't found")
        #expect(finding.flaws == [])
        print("\(fault): \(finding.summary)")
    }

    @Test("A seed goes the same way every time", arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func determinism(seed: UInt64) {
        let outcome = FlowSimulation().run(FlowScenario(seed: seed), recordsTrace: true)
        #expect(outcome.trace == FlowSimulation().run(FlowScenario(seed: seed), recordsTrace: true).trace)
    }
}
