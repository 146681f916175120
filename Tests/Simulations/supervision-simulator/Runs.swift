import ArgumentParser
import OTPOracle
import SimulationSupport
import SupervisionSimulation

/// Runs worlds of one kind.
struct Runs<World: SimulatedWorld> {
    let isQuiet: Bool
    private let simulation = Simulation<World>()

    init(isQuiet: Bool) { self.isQuiet = isQuiet }

    func runOne(_ scenario: World.Scenario, trace: Bool) throws {
        let outcome = simulation.run(scenario, recordsTrace: trace)
        if trace { for line in scenario.worldDescription + outcome.trace { print(line) } }
        print("seed \(scenario.seed): \(outcome.violation.map { "\($0)" } ?? "\(outcome.events) events, nothing broken")")
        if outcome.violation != nil { throw ExitCode.failure }
    }

    /// Runs the worlds of seeds, and for each those variants that the seed's scenario and the number of its events lead to.
    func runMany(_ seeds: Range<UInt64>, variants: (World.Scenario, _ events: Int) -> [World.Scenario] = { _, _ in [] }) throws {
        var progress = Progress(isQuiet: isQuiet)
        var count = 0
        for seed in seeds {
            let scenario = World.Scenario(seed: seed)
            let length = try check(scenario, &progress)
            for variant in variants(scenario, length) {
                count += 1
                _ = try check(variant, &progress)
            }
            progress.tell(seed - seeds.lowerBound, of: UInt64(seeds.count))
        }
        let worlds = "\(seeds.count) seeds" + (count > 0 ? ", \(count) crashes" : "")
        print("\(World.flag): \(worlds), \(progress.events) events, \(progress.speed) events per second, nothing broken")
    }

    /// - Returns: The number of the world's events.
    private func check(_ scenario: World.Scenario, _ progress: inout Progress) throws -> Int {
        let former = progress.events
        guard let finding = simulation.check(scenario, events: &progress.events) else { return progress.events - former }
        print(finding)
        throw ExitCode.failure
    }
}

extension Runs {
    /// Tries every order of events.
    static func explore<State: Explorable>(_ explorations: [Exploration<State>], events: Int, isQuiet: Bool) throws {
        var progress = Progress(isQuiet: isQuiet)
        var states = 0
        for exploration in explorations {
            progress.say("\(exploration)")
            let outcome = exploration.run(events: events) { progress.say("  \($0) of \(events) events, \($1) states") }
            states += outcome.states
            progress.events += outcome.events
            guard let violation = outcome.violation else { continue }
            print("\(exploration): \(violation)")
            for line in outcome.path { print("  \(line)") }
            throw ExitCode.failure
        }
        print("\(World.flag): \(states) states, \(progress.events) events, \(progress.speed) events per second, nothing broken")
    }
}

/// Runs scenarios on OTP's own supervisor and on ours.
struct OracleRuns {
    let isQuiet: Bool

    func runOne(_ scenario: Scenario, trace: Bool) async throws {
        try await ErlangNode.run { node in
            var oracle = Oracle(node)
            let disagreement = try oracle.compare(scenario)
            if trace {
                let steps = scenario.steps.map(scenario.describe)
                for line in try scenario.worldDescription + steps + oracle.courses(scenario) { print(line) }
            }
            guard disagreement == nil else {
                print(try oracle.report(scenario))
                throw ExitCode.failure
            }
            print("seed \(scenario.seed): \(oracle.steps) steps, no difference beside the listed ones")
        }
    }

    func runMany(_ seeds: Range<UInt64>) async throws {
        try await ErlangNode.run { node in
            var progress = Progress(isQuiet: isQuiet)
            var oracle = Oracle(node)
            for seed in seeds {
                let scenario = Scenario(seed: seed)
                guard try oracle.compare(scenario) == nil else {
                    print(try oracle.report(scenario))
                    throw ExitCode.failure
                }
                progress.events = oracle.steps
                progress.tell(seed - seeds.lowerBound, of: UInt64(seeds.count))
            }
            print("\(seeds.count) seeds, \(oracle.steps) steps, \(progress.speed) steps per second, no difference beside the listed ones")
            for (difference, count) in oracle.met.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { print("  \(difference): \(count)") }
        }
    }
}
