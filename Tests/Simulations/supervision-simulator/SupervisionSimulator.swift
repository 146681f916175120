import AcknowledgementSimulation
import ArgumentParser
import OwnershipSimulation
import SupervisionSimulation
import WorkerLifecycleSimulation

/// Runs simulated worlds under the supervisor, and under the machines of workers, to find what they do wrong.
@main
struct SupervisionSimulator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "supervision-simulator",
        abstract: "Simulate trees of supervisors, a world per seed, and check that what must hold does.",
        discussion: """
            Exit codes: 0 nothing was broken, 1 something was: the seed, the invariant and the fewest steps that break it are printed.

            A seed always gives the same world. `--seed 7 --trace` prints what happens in one; `--steps 3,5` leaves all other steps out.

            With --workers the worlds are those of worker processes, of pools of spares and of adoptions, with --acknowledgements those of
            acknowledged messages over links that are lost and processes that die, with --ownership those of nodes that own subtrees by leases
            of a store, with clocks that drift, machines that stop and networks that are cut. With --oracle the trees are carried out by OTP's
            own supervisor too, step by step, and both must do the same. This needs Erlang, Debian's erlang-base.
            """
    )

    @Flag(help: "Worker processes and pools of spares, not trees of supervisors.")
    var workers = false

    @Flag(help: "Acknowledged messages, not trees of supervisors.")
    var acknowledgements = false

    @Flag(help: "Ownership across nodes, not trees of supervisors.")
    var ownership = false

    @Flag(help: "Compare with OTP's own supervisor.")
    var oracle = false

    @Option(name: [.long, .customLong("scenarios")], help: "How many seeds.")
    var seeds: UInt64 = 10_000

    @Option(help: "The first seed.")
    var from: UInt64 = 0

    @Option(help: "Run this seed alone.")
    var seed: UInt64?

    @Option(help: "With --seed: the numbers of the steps to keep, with commas between them.")
    var steps: String?

    @Flag(help: "With --seed: print what happens.")
    var trace = false

    @Flag(help: "With every seed: kill the supervisor that hears of an event, at every event in turn, before and after what it does.")
    var crashes = false

    @Option(help: "With --seed: at which event a supervisor is killed.")
    var crash: Int?

    @Flag(help: "With --crash: kill it after what it does about the event, not before.")
    var late = false

    @Flag(help: "Instead of seeds: every order of events among a few children, for every strategy; or of one worker.")
    var exhaustive = false

    @Option(help: "With --exhaustive: how many children, from 1 to 3.")
    var children = 3

    @Option(help: "With --exhaustive: how many events; 8 by default.")
    var events: Int?

    @Flag(help: "No progress.")
    var quiet = false

    @Flag(help: "Leave the model out, and check what may be demanded of any supervisor.")
    var invariantsOnly = false

    func validate() throws {
        guard (1...3).contains(children) else { throw ValidationError("--children is \(children); give 1 to 3") }
        guard (1...30).contains(depth) else { throw ValidationError("--events is \(depth); give 1 to 30") }
        guard !workers || !crashes && crash == nil && !invariantsOnly else {
            throw ValidationError("--crashes, --crash and --invariants-only don't go with --workers")
        }
        guard !oracle || !workers && !exhaustive && !crashes && crash == nil && !invariantsOnly else {
            throw ValidationError("--oracle goes with --seeds, --from, --seed, --steps and --trace only")
        }
        guard !acknowledgements || !workers && !oracle && !exhaustive && !crashes && crash == nil && !invariantsOnly else {
            throw ValidationError("--acknowledgements goes with --seeds, --from, --seed, --steps and --trace only")
        }
        guard !ownership || !workers && !acknowledgements && !oracle && !exhaustive && !crashes && crash == nil && !invariantsOnly else {
            throw ValidationError("--ownership goes with --seeds, --from, --seed, --steps and --trace only")
        }
        guard seed != nil || steps == nil && !trace else { throw ValidationError("--steps and --trace belong to --seed") }
        guard crash == nil && !late || seed != nil else { throw ValidationError("--crash and --late belong to --seed") }
        guard !late || crash != nil else { throw ValidationError("--late belongs to --crash") }
        guard !from.addingReportingOverflow(seeds).overflow else { throw ValidationError("--from plus --seeds is too large a number") }
    }

    func run() async throws {
        if oracle {
            let runs = OracleRuns(isQuiet: quiet)
            if let seed {
                let scenario = Scenario(seed: seed)
                try await runs.runOne(try steps.map { scenario.keeping(try numbers(in: $0)) } ?? scenario, trace: trace)
            } else {
                try await runs.runMany(from..<from + seeds)
            }
        } else if acknowledgements {
            let runs = AcknowledgementRuns(isQuiet: quiet)
            if let seed {
                var scenario = AcknowledgementScenario(seed: seed)
                if let kept = try steps.map({ try numbers(in: $0) }) { scenario.steps.removeAll { !kept.contains($0.number) } }
                try runs.runOne(scenario, trace: trace)
            } else {
                try runs.runMany(from..<from + seeds)
            }
        } else if ownership {
            let runs = OwnershipRuns(isQuiet: quiet)
            if let seed {
                var scenario = OwnershipScenario(seed: seed)
                if let kept = try steps.map({ try numbers(in: $0) }) { scenario.steps.removeAll { !kept.contains($0.number) } }
                try runs.runOne(scenario, trace: trace)
            } else {
                try runs.runMany(from..<from + seeds)
            }
        } else if workers {
            try runWorkers()
        } else if exhaustive {
            try runExhaustively()
        } else if let seed {
            try runOne(seed)
        } else {
            try runMany()
        }
    }

    private var depth: Int { events ?? 8 }

    private func runWorkers() throws {
        let runs = WorkerRuns(isQuiet: quiet)
        if exhaustive {
            try runs.runExhaustively(workerEvents: depth, poolEvents: depth)
        } else if let seed {
            let scenario = WorkerScenario(seed: seed)
            try runs.runOne(try steps.map { scenario.keeping(try numbers(in: $0)) } ?? scenario, trace: trace)
        } else {
            try runs.runMany(from..<from + seeds)
        }
    }

    private func numbers(in list: String) throws -> Set<Int> {
        Set(
            try list.split(separator: ",").map { word in
                guard let number = Int(word) else { throw ValidationError("--steps has \(word) in it; give numbers") }
                return number
            }
        )
    }

    private var simulation: Simulation {
        Simulation(checks: invariantsOnly ? .invariants : .all)
    }

    // MARK: - One seed

    private func runOne(_ seed: UInt64) throws {
        var scenario = Scenario(seed: seed)
        if let steps { scenario = scenario.keeping(try numbers(in: steps)) }
        scenario.crash = crash.map { Scenario.CrashPoint(event: $0, isAfterDirectives: late) }
        let outcome = simulation.run(scenario, recordsTrace: trace)
        if trace {
            for line in scenario.treeDescription { print(line) }
            for line in outcome.trace { print(line) }
        }
        if let violation = outcome.violation {
            print("seed \(seed): \(violation)")
            throw ExitCode.failure
        }
        print("seed \(seed): \(outcome.events) events, nothing broken")
    }

    // MARK: - Many seeds

    private func runMany() throws {
        var progress = Progress(isQuiet: quiet)
        var points = 0
        for offset in 0..<seeds {
            var scenario = Scenario(seed: from + offset)
            let length = try check(scenario)
            progress.events += length
            for point in crashes ? Scenario.CrashPoint.all(events: length) : [] {
                scenario.crash = point
                points += 1
                progress.events += try check(scenario)
            }
            if crashes || offset % 64 == 0 { progress.tell(offset, of: seeds) }
        }
        print(
            "\(seeds) seeds, \(crashes ? "\(points) crashes, " : "")\(progress.events) events, \(progress.speed) events per second, nothing broken"
        )
    }

    /// - Returns: The number of the world's events.
    private func check(_ scenario: Scenario) throws -> Int {
        let outcome = simulation.run(scenario)
        guard outcome.violation == nil else {
            report(scenario)
            throw ExitCode.failure
        }
        return outcome.events
    }

    private func report(_ scenario: Scenario) {
        let minimal = simulation.minimise(scenario)
        let outcome = simulation.run(minimal)
        let isTheSame = outcome.violation == simulation.run(minimal).violation
        let numbers = minimal.steps.map { String($0.number) }.joined(separator: ",")
        print("seed \(scenario.seed): \(outcome.violation.map(String.init(describing:)) ?? "nothing broken")")
        for line in minimal.treeDescription { print("  \(line)") }
        for step in minimal.steps { print("  \(minimal.describe(step))") }
        print(isTheSame ? "the same at a second run; to see what happens:" : "not the same at a second run")
        let crash = scenario.crash.map { " \($0)" } ?? ""
        print(
            "supervision-simulator --seed \(scenario.seed) --steps \(numbers)\(crash) --trace"
                + (invariantsOnly ? " --invariants-only" : "")
        )
    }

    // MARK: - All orders

    private func runExhaustively() throws {
        var progress = Progress(isQuiet: quiet)
        var states = 0
        for exploration in Exploration.all(children: children, events: depth) {
            progress.say("\(exploration)")
            let outcome = exploration.run { progress.say("  \($0) of \(depth) events, \($1) states") }
            states += outcome.states
            progress.events += outcome.events
            guard let violation = outcome.violation else { continue }
            print("\(exploration): \(violation)")
            for line in outcome.path { print("  \(line)") }
            throw ExitCode.failure
        }
        print("\(states) states, \(progress.events) events, \(progress.speed) events per second, nothing broken")
    }
}
