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
        for seed in UInt64(0)..<UInt64(count) {
            let outcome = AcknowledgementSimulation().run(AcknowledgementScenario(seed: seed))
            events += outcome.events
            guard outcome.violation != nil else { continue }
            let minimal = AcknowledgementSimulation().minimise(AcknowledgementScenario(seed: seed))
            Issue.record("seed \(seed):\n\(AcknowledgementSimulation().run(minimal, recordsTrace: true).trace.joined(separator: "\n"))")
            return
        }
        #expect(events > 25 * count, "the worlds are too small: \(events)")
    }

    @Test("The death of the process between is survived after each single event")
    func deaths() {
        var runs = 0
        for seed in UInt64(0)..<UInt64(rounds(short: 20, all: 200, long: 5_000)) {
            var scenario = AcknowledgementScenario(seed: seed)
            for event in 1...max(AcknowledgementSimulation().run(scenario).events, 1) {
                scenario.rootDeath = event
                runs += 1
                guard AcknowledgementSimulation().run(scenario).violation != nil else { continue }
                let minimal = AcknowledgementSimulation().minimise(scenario)
                let trace = AcknowledgementSimulation().run(minimal, recordsTrace: true).trace.joined(separator: "\n")
                Issue.record("seed \(seed), death after event \(event):\n\(trace)")
                return
            }
        }
        #expect(runs > 500, "\(runs) runs")
    }

    @Test("A planted fault is found and minimised", arguments: AcknowledgementFault.allCases)
    func plantedFault(fault: AcknowledgementFault) throws {
        let simulation = AcknowledgementSimulation(fault: fault)
        let found = (0..<2_000).first { simulation.run(AcknowledgementScenario(seed: $0)).violation != nil }
        let scenario = AcknowledgementScenario(seed: try #require(found, "\(fault) wasn't found"))
        let violation = try #require(simulation.run(scenario).violation)
        let minimal = simulation.minimise(scenario)
        #expect(simulation.run(minimal).violation?.invariant == violation.invariant)
        #expect(AcknowledgementSimulation().run(scenario).violation == nil)
        print("\(fault): \(scenario.seed + 1) seed(s); \(violation); \(scenario.steps.count) steps, \(minimal.steps.count) needed")
    }

    @Test("A seed goes the same way every time", arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func determinism(seed: UInt64) {
        let first = AcknowledgementSimulation().run(AcknowledgementScenario(seed: seed), recordsTrace: true)
        #expect(first.trace == AcknowledgementSimulation().run(AcknowledgementScenario(seed: seed), recordsTrace: true).trace)
    }
}
