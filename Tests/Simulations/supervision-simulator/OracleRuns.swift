import ArgumentParser
import OTPOracle
import SupervisionSimulation

/// Runs scenarios on OTP's own supervisor and on ours.
struct OracleRuns {
    let isQuiet: Bool

    func runOne(_ scenario: Scenario, trace: Bool) async throws {
        try await ErlangNode.run { node in
            var oracle = Oracle(node)
            let disagreement = try oracle.compare(scenario)
            if trace {
                for line in scenario.treeDescription { print(line) }
                for step in scenario.steps { print(scenario.describe(step)) }
                for line in try oracle.courses(scenario) { print(line) }
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
                if seed % 64 == 0 { progress.tell(seed - seeds.lowerBound, of: UInt64(seeds.count)) }
            }
            print("\(seeds.count) seeds, \(oracle.steps) steps, \(progress.speed) steps per second, no difference beside the listed ones")
            for (difference, count) in oracle.met.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { print("  \(difference): \(count)") }
        }
    }
}
