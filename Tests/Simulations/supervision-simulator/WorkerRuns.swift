import ArgumentParser
import WorkerLifecycleSimulation

/// Runs worlds of worker processes and of pools of spares.
struct WorkerRuns {
    let isQuiet: Bool
    private let simulation = WorkerSimulation()

    // MARK: - One seed

    func runOne(_ scenario: WorkerScenario, trace: Bool) throws {
        let outcome = simulation.run(scenario, recordsTrace: trace)
        if trace {
            for line in scenario.worldDescription { print(line) }
            for line in outcome.trace { print(line) }
        }
        if let violation = outcome.violation {
            print("seed \(scenario.seed): \(violation)")
            throw ExitCode.failure
        }
        let adoption = AdoptionSimulation().run(AdoptionScenario(seed: scenario.seed), recordsTrace: trace)
        if trace { for line in adoption.trace { print(line) } }
        if let violation = adoption.violation {
            print("seed \(scenario.seed), adoption: \(violation)")
            throw ExitCode.failure
        }
        print("seed \(scenario.seed): \(outcome.events + adoption.events) events, nothing broken")
    }

    // MARK: - Many seeds

    func runMany(_ seeds: Range<UInt64>) throws {
        var progress = Progress(isQuiet: isQuiet)
        for seed in seeds {
            let scenario = WorkerScenario(seed: seed)
            let outcome = simulation.run(scenario)
            guard outcome.violation == nil else {
                report(scenario)
                throw ExitCode.failure
            }
            let adoption = AdoptionSimulation().run(AdoptionScenario(seed: seed))
            if let violation = adoption.violation {
                let steps = AdoptionSimulation().minimise(AdoptionScenario(seed: seed)).steps
                print("seed \(seed), adoption: \(violation)")
                for step in steps { print("  \(step.number): \(step.action)") }
                print("supervision-simulator --workers --seed \(seed) --trace")
                throw ExitCode.failure
            }
            progress.events += outcome.events + adoption.events
            progress.tell(seed - seeds.lowerBound, of: UInt64(seeds.count))
        }
        print("\(seeds.count) seeds of workers, \(progress.events) events, \(progress.speed) events per second, nothing broken")
    }

    private func report(_ scenario: WorkerScenario) {
        let minimal = simulation.minimise(scenario)
        let outcome = simulation.run(minimal)
        let isTheSame = outcome.violation == simulation.run(minimal).violation
        let numbers = minimal.steps.map { String($0.number) }.joined(separator: ",")
        print("seed \(scenario.seed): \(outcome.violation.map(String.init(describing:)) ?? "nothing broken")")
        for line in minimal.worldDescription { print("  \(line)") }
        for step in minimal.steps { print("  \(minimal.describe(step))") }
        print(isTheSame ? "the same at a second run; to see what happens:" : "not the same at a second run")
        print("supervision-simulator --workers --seed \(scenario.seed) --steps '\(numbers)' --trace")
    }

    // MARK: - All orders

    func runExhaustively(workerEvents: Int, poolEvents: Int) throws {
        var progress = Progress(isQuiet: isQuiet)
        var states = 0
        for exploration in WorkerExploration.all(events: workerEvents) {
            progress.say("\(exploration)")
            let outcome = exploration.run { progress.say("  \($0) of \(workerEvents) events, \($1) states") }
            states += outcome.states
            progress.events += outcome.events
            try check(outcome.violation, outcome.path, "\(exploration)")
        }
        for exploration in PoolExploration.all(events: poolEvents) {
            progress.say("\(exploration)")
            let outcome = exploration.run { progress.say("  \($0) of \(poolEvents) events, \($1) states") }
            states += outcome.states
            progress.events += outcome.events
            try check(outcome.violation, outcome.path, "\(exploration)")
        }
        print("\(states) states of workers, \(progress.events) events, \(progress.speed) events per second, nothing broken")
    }

    private func check(_ violation: WorkerViolation?, _ path: [String], _ name: String) throws {
        guard let violation else { return }
        print("\(name): \(violation)")
        for line in path { print("  \(line)") }
        throw ExitCode.failure
    }
}
