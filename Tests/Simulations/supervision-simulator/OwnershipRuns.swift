import ArgumentParser
import OwnershipSimulation
import SimulationSupport

/// Runs worlds of ownership across nodes.
struct OwnershipRuns {
    let isQuiet: Bool
    private let simulation = OwnershipSimulation()

    func runOne(_ scenario: OwnershipScenario, trace: Bool) throws {
        let outcome = simulation.run(scenario, recordsTrace: trace)
        if trace { for line in outcome.trace { print(line) } }
        if let violation = outcome.violation {
            print("seed \(scenario.seed): \(violation)")
            throw ExitCode.failure
        }
        print("seed \(scenario.seed): \(outcome.events) events, nothing broken")
    }

    func runMany(_ seeds: Range<UInt64>) throws {
        var progress = Progress(isQuiet: isQuiet)
        for seed in seeds {
            let outcome = simulation.run(OwnershipScenario(seed: seed))
            if let violation = outcome.violation {
                let steps = simulation.minimise(OwnershipScenario(seed: seed)).steps
                print("seed \(seed): \(violation)")
                for step in steps { print("  \(step.number): \(step.action)") }
                let numbers = steps.map { "\($0.number)" }.joined(separator: ",")
                print("supervision-simulator --ownership --seed \(seed) --steps '\(numbers)' --trace")
                throw ExitCode.failure
            }
            progress.events += outcome.events
            progress.tell(seed - seeds.lowerBound, of: UInt64(seeds.count))
        }
        print("\(seeds.count) seeds of ownership, \(progress.events) events, \(progress.speed) events per second, nothing broken")
    }
}
