import SupervisionSimulation
import TestSupport
import Testing

@Suite struct SimulationTests {
    @Test func nothingIsBrokenInAFewThousandWorlds() {
        let (simulation, count) = (Simulation(), rounds(short: 500, all: 2_000, long: 20_000))
        var events = 0
        for seed in UInt64(0)..<UInt64(count) {
            let outcome = simulation.run(Scenario(seed: seed))
            events += outcome.events
            if let violation = outcome.violation {
                let steps = simulation.minimise(Scenario(seed: seed)).steps.map { String($0.number) }.joined(separator: ",")
                Issue.record("supervision-simulator --seed \(seed) --steps \(steps) --trace: \(violation)")
                return
            }
        }
        #expect(events > 40 * count, "the worlds are too small")
    }

    @Test func nothingIsBrokenWhereverASupervisorIsKilled() {
        let (simulation, count) = (Simulation(), rounds(short: 6, all: 30, long: 300))
        var points = 0
        for seed in UInt64(0)..<UInt64(count) {
            var scenario = Scenario(seed: seed)
            for point in Scenario.CrashPoint.all(events: simulation.run(scenario).events) {
                points += 1
                scenario.crash = point
                guard let violation = simulation.run(scenario).violation else { continue }
                Issue.record("supervision-simulator --seed \(seed) \(point) --trace: \(violation)")
                return
            }
        }
        #expect(points >= 67 * count, "the worlds are too small")
    }

    @Test(arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func aSeedGoesTheSameWayEveryTime(seed: UInt64) {
        let first = Simulation().run(Scenario(seed: seed), recordsTrace: true)
        let second = Simulation().run(Scenario(seed: seed), recordsTrace: true)
        #expect(first.trace == second.trace)
        #expect(first.violation == second.violation)
        #expect(!first.trace.isEmpty)
    }

    @Test func aStepLessChangesNothingThatCameBefore() throws {
        let scenario = Scenario(seed: 11)
        let last = try #require(scenario.steps.last)
        let whole = Simulation().run(scenario, recordsTrace: true).trace
        let numbers = Set(scenario.steps.dropLast().map(\.number))
        let part = Simulation().run(scenario.keeping(numbers), recordsTrace: true).trace
        let same = zip(whole, part).prefix { $0 == $1 }.count
        let lastLine = try #require(whole.firstIndex { $0.contains(scenario.describe(last)) })
        #expect(same >= min(lastLine, part.count - 1) || part[same].contains("the end"))
    }

    @Test func everyOrderOfAFewEventsAmongTwoChildren() {
        var states = 0
        for exploration in Exploration.all(children: 2, events: 4) {
            let outcome = exploration.run()
            states += outcome.states
            #expect(outcome.violation == nil, "\(exploration): \(outcome.path)")
        }
        #expect(states > 1_000)
    }
}
