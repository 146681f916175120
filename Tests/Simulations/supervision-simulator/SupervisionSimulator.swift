import AcknowledgementSimulation
import ArgumentParser
import FlowSimulation
import OwnershipSimulation
import SimulationSupport
import SupervisionSimulation
import WorkerLifecycleSimulation

/// Runs many trees of supervisors, or of what is above and under the machines of workers, to find what they do wrong.
@main
struct SupervisionSimulator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "supervision-simulator",
        abstract: "Simulate trees of supervisors, a world per seed, and check that what must hold does.",
        discussion: """
            Exit codes: 0 nothing was broken, 1 something was: the seed, the invariant and the fewest steps that break it are printed.

            A seed always gives the same world. `--seed 7 --trace` prints what happens in one; `--steps 3,5` leaves all other steps out.

            With --workers the worlds are those of worker processes and pools of spares, with --adoptions those of roots that adopt their
            predecessors' workers, with --acknowledgements those of acknowledged messages over links that are lost and processes that die,
            with --flows those of durable flows whose processes die at their commits, with --ownership those of nodes that own subtrees by
            leases of a store, with clocks that drift, machines that stop and networks that are cut. With --oracle the trees are carried out
            by OTP's own supervisor too, step by step, and both must do the same. This needs Erlang, Debian's erlang-base.
            """
    )

    enum Kind: String, EnumerableFlag {
        case trees, workers, adoptions, acknowledgements, flows, ownership, oracle

        static func help(for value: Kind) -> ArgumentHelp? {
            switch value {
            case .trees: "Trees of supervisors; this is the default."
            case .workers: "Worker processes and pools of spares."
            case .adoptions: "Roots that adopt workers."
            case .acknowledgements: "Acknowledged messages."
            case .flows: "Durable flows."
            case .ownership: "Ownership across nodes."
            case .oracle: "Trees of supervisors, compared with OTP's own supervisor."
            }
        }
    }

    @Flag(exclusivity: .exclusive)
    var kind = Kind.trees

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

    @Option(help: "With --exhaustive: how many events.")
    var events = 8

    @Flag(help: "No progress.")
    var quiet = false

    func validate() throws {
        guard (1...3).contains(children) else { throw ValidationError("--children is \(children); give 1 to 3") }
        guard (1...30).contains(events) else { throw ValidationError("--events is \(events); give 1 to 30") }
        guard kind == .trees || !crashes && crash == nil else { throw ValidationError("--crashes and --crash go with trees only") }
        guard kind == .trees || kind == .workers || !exhaustive else {
            throw ValidationError("--exhaustive goes with trees and workers only")
        }
        guard seed != nil || steps == nil && !trace else { throw ValidationError("--steps and --trace belong to --seed") }
        guard crash == nil && !late || seed != nil else { throw ValidationError("--crash and --late belong to --seed") }
        guard !late || crash != nil else { throw ValidationError("--late belongs to --crash") }
        guard !from.addingReportingOverflow(seeds).overflow else { throw ValidationError("--from plus --seeds is too large a number") }
    }

    func run() async throws {
        switch kind {
        case .trees: try runTrees()
        case .workers:
            guard exhaustive else { return try run(Runs<WorkerWorld>(isQuiet: quiet)) }
            try Runs<WorkerWorld>.explore(WorkerState.all(), events: events, isQuiet: quiet)
            try Runs<WorkerWorld>.explore(PoolState.all(), events: events, isQuiet: quiet)
        case .adoptions: try run(Runs<AdoptionWorld>(isQuiet: quiet))
        case .acknowledgements: try run(Runs<AcknowledgementWorld>(isQuiet: quiet))
        case .flows: try run(Runs<FlowWorld>(isQuiet: quiet))
        case .ownership: try run(Runs<OwnershipWorld>(isQuiet: quiet))
        case .oracle:
            let runs = OracleRuns(isQuiet: quiet)
            if let seed {
                try await runs.runOne(try kept(Scenario(seed: seed)), trace: trace)
            } else {
                try await runs.runMany(from..<from + seeds)
            }
        }
    }

    private func runTrees() throws {
        let runs = Runs<World>(isQuiet: quiet)
        if exhaustive { return try Runs<World>.explore(SupervisionState.all(children: children), events: events, isQuiet: quiet) }
        if let seed {
            var scenario = try kept(Scenario(seed: seed))
            scenario.crash = crash.map { Scenario.CrashPoint(event: $0, isAfterDirectives: late) }
            return try runs.runOne(scenario, trace: trace)
        }
        try runs.runMany(from..<from + seeds) { scenario, events in
            guard crashes else { return [] }
            return Scenario.CrashPoint.all(events: events).map { point in
                var scenario = scenario
                scenario.crash = point
                return scenario
            }
        }
    }

    private func run<World>(_ runs: Runs<World>) throws {
        if let seed {
            try runs.runOne(try kept(World.Scenario(seed: seed)), trace: trace)
        } else {
            try runs.runMany(from..<from + seeds)
        }
    }

    /// Returns the scenario with those steps that are to be kept.
    private func kept<Scenario: SeededScenario>(_ scenario: Scenario) throws -> Scenario {
        guard let steps else { return scenario }
        let numbers = try steps.split(separator: ",").map { word in
            guard let number = Int(word) else { throw ValidationError("--steps has \(word) in it; give numbers") }
            return number
        }
        return scenario.keeping(numbers)
    }
}
