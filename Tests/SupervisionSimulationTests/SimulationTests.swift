import SimulationSupport
import SupervisionSimulation
import TestSupport
import Testing

@Suite struct SimulationTests {
    @Test func nothingIsBrokenInAFewThousandWorlds() {
        let count = rounds(short: 500, all: 2_000, long: 20_000)
        var events = 0
        if let finding = TreeSimulation().check(0..<UInt64(count), events: &events) { Issue.record("\(finding)") }
        #expect(events > 40 * count, "the worlds are too small")
    }

    @Test func nothingIsBrokenWhereverASupervisorIsKilled() {
        let count = rounds(short: 6, all: 30, long: 300)
        var (points, events) = (0, 0)
        for seed in UInt64(0)..<UInt64(count) {
            var scenario = Scenario(seed: seed)
            for point in Scenario.CrashPoint.all(events: TreeSimulation().run(scenario).events) {
                points += 1
                scenario.crash = point
                guard let finding = TreeSimulation().check(scenario, events: &events) else { continue }
                Issue.record("\(finding)")
                return
            }
        }
        #expect(points >= 67 * count, "the worlds are too small")
    }

    @Test(arguments: [UInt64(1), 2, 3, .random(in: 4 ... .max)])
    func aSeedGoesTheSameWayEveryTime(seed: UInt64) {
        let outcome = TreeSimulation().run(Scenario(seed: seed), recordsTrace: true)
        #expect(outcome.trace == TreeSimulation().run(Scenario(seed: seed), recordsTrace: true).trace)
        #expect(!outcome.trace.isEmpty)
    }

    @Test func aStepLessChangesNothingThatCameBefore() throws {
        let scenario = Scenario(seed: 11)
        let last = try #require(scenario.steps.last)
        let whole = TreeSimulation().run(scenario, recordsTrace: true).trace
        let part = TreeSimulation().run(scenario.keeping(scenario.steps.dropLast().map(\.number)), recordsTrace: true).trace
        let same = zip(whole, part).prefix { $0 == $1 }.count
        let lastLine = try #require(whole.firstIndex { $0.contains(scenario.describe(last)) })
        #expect(same >= min(lastLine, part.count - 1) || part[same].contains("the end"))
    }

    @Test func everyOrderOfAFewEventsAmongTwoChildren() {
        var states = 0
        for exploration in SupervisionState.all(children: 2) {
            let outcome = exploration.run(events: 4)
            states += outcome.states
            #expect(outcome.violation == nil, "\(exploration): \(outcome.path)")
        }
        #expect(states > 1_000)
    }
}
