import ArgumentParser
import SupervisionSimulation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Runs simulated worlds under the supervisor, to find what it does wrong.
@main
struct SupervisionSimulator: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "supervision-simulator",
        abstract: "Simulate trees of supervisors, a world per seed, and check that what must hold does.",
        discussion: """
            Exit codes: 0 nothing was broken, 1 something was: the seed, the invariant and the fewest steps that break it are printed.

            A seed always gives the same world. `--seed 7 --trace` prints what happens in one; `--steps 3,5` leaves all other steps out.
            """
    )

    @Option(help: "How many seeds.")
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

    @Flag(help: "Instead of seeds: every order of events among a few children, for every strategy.")
    var exhaustive = false

    @Option(help: "With --exhaustive: how many children, from 1 to 3.")
    var children = 3

    @Option(help: "With --exhaustive: how many events.")
    var events = 8

    @Flag(help: "No progress.")
    var quiet = false

    @Flag(help: "Leave the model out, and check what may be demanded of any supervisor.")
    var invariantsOnly = false

    func validate() throws {
        guard (1...3).contains(children) else { throw ValidationError("--children is \(children); give 1 to 3") }
        guard (1...30).contains(events) else { throw ValidationError("--events is \(events); give 1 to 30") }
        guard seed != nil || steps == nil && !trace else { throw ValidationError("--steps and --trace belong to --seed") }
        guard crash == nil && !late || seed != nil else { throw ValidationError("--crash and --late belong to --seed") }
        guard !late || crash != nil else { throw ValidationError("--late belongs to --crash") }
        guard !from.addingReportingOverflow(seeds).overflow else { throw ValidationError("--from plus --seeds is too large a number") }
    }

    func run() throws {
        if exhaustive {
            try runExhaustively()
        } else if let seed {
            try runOne(seed)
        } else {
            try runMany()
        }
    }

    private var simulation: Simulation {
        Simulation(checks: invariantsOnly ? .invariants : .all)
    }

    // MARK: - One seed

    private func runOne(_ seed: UInt64) throws {
        var scenario = Scenario(seed: seed)
        if let steps {
            let numbers = try steps.split(separator: ",").map { word in
                guard let number = Int(word) else { throw ValidationError("--steps has \(word) in it; give numbers") }
                return number
            }
            scenario = scenario.keeping(Set(numbers))
        }
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
        let clock = ContinuousClock()
        let start = clock.now
        var events = 0
        var points = 0
        var lastProgress = start
        for offset in 0..<seeds {
            var scenario = Scenario(seed: from + offset)
            let length = try check(scenario)
            events += length
            for point in crashes ? Scenario.CrashPoint.all(events: length) : [] {
                scenario.crash = point
                points += 1
                events += try check(scenario)
            }
            if !quiet, crashes || offset % 64 == 0, clock.now - lastProgress >= .seconds(1) {
                lastProgress = clock.now
                let percent = Int(Double(offset) / Double(seeds) * 100)
                let speed = Self.perSecond(events, clock.now - start)
                say("\(percent) %, \(offset) of \(seeds) seeds, \(events) events, \(speed) events/s")
            }
        }
        let duration = clock.now - start
        print(
            "\(seeds) seeds, \(crashes ? "\(points) crashes, " : "")\(events) events, \(Self.perSecond(events, duration)) events per second, nothing broken"
        )
    }

    /// - Returns: how many events the world had.
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
        let clock = ContinuousClock()
        let start = clock.now
        var states = 0
        var events = 0
        for exploration in Exploration.all(children: children, events: self.events) {
            if !quiet { say("\(exploration)") }
            let outcome = exploration.run { depth, states in
                if !quiet { say("  \(depth) of \(self.events) events, \(states) states") }
            }
            states += outcome.states
            events += outcome.events
            guard let violation = outcome.violation else { continue }
            print("\(exploration): \(violation)")
            for line in outcome.path { print("  \(line)") }
            throw ExitCode.failure
        }
        let speed = Self.perSecond(events, clock.now - start)
        print("\(states) states, \(events) events, \(speed) events per second, nothing broken")
    }

    private static func perSecond(_ count: Int, _ duration: Duration) -> Int {
        Int(Double(count) / max(duration / .seconds(1), 0.000_001))
    }

    private func say(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
