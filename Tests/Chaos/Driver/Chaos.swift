import ArgumentParser
import ChaosHistory
import Glibc
import Synchronization

/// Harms a tree of processes for a while, and decides from the history whether it has kept the rules.
@main
struct Chaos: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos",
        abstract: "Kill, stop and clog the processes of a tree, and check from the history that nothing acknowledged was lost.",
        discussion: """
            A root, parents below it, leaves below these, and senders whose messages travel through the root: each a process of its own. Every \
            message, execution, answer, beginning and end is a line that the process writes before it goes on; the checker decides from these \
            lines alone. All chance comes from the seed: which fault comes when against which place. What the machine does meanwhile doesn't.

            Faults: kill (SIGKILL), stop (SIGSTOP for 50 to 1,500 ms), clog (a row that runs on the thread which reads the link keeps it from \
            reading, at one end or the other), cut (all links of a process are broken, and it lives on), restart (SIGTERM). Kills come as often as --kills-per-second says, each other fault a tenth as often.

            Targets: workers (the leaves), senders, parents, daemon (the root). With several, a leaf is hit five times as often as a parent, and ten \
            times as often as the root; a root that has ended is started again.

            Exit codes: 0 the verdict is ok, 1 a rule was broken, 64 usage. The history of a run that wasn't ok stays in its directory.
            """
    )

    @Option(help: "The kills in each second, at random times.")
    var killsPerSecond = 5.0

    @Option(help: "The length of the storm.")
    var seconds = 30.0

    @Option(help: "The seed; a random one by default, which is printed.")
    var seed: UInt64?

    @Option(help: "A file to which the verdict is written as JSON.")
    var json: String?

    @Option(help: "A file to which the root's memory, descriptors and threads during the storm are drawn, as SVG.")
    var plot: String?

    @Option(help: "The leaves in all, at most eight for each parent.")
    var workers = 20

    @Option(help: "The parents, at most eight.")
    var parents = 5

    @Option(help: "The senders; below a coordinatord each parent has one.")
    var senders = 4

    @Option(help: "The members of a pool beside the parents, which count as workers; a coordinatord has none.")
    var pool = 0

    @Option(help: "The longest time in seconds after which a root that has ended is started again; 0: at once.")
    var pause = 0.0

    @Option(help: "The messages that each sender sends in a second.")
    var rate = 100

    @Option(help: "The root: 'embedded', a program of its own, or 'coordinatord'.")
    var root = RootKind.embedded

    @Option(help: "What is harmed, with commas: workers,senders,parents,daemon.")
    var targets = Choices<Target>([.workers])

    @Option(help: "What is done, with commas: kill,stop,clog,cut,restart.")
    var faults = Choices<Record.Fault>([.kill])

    @Option(help: "The restarts of its children that each coordinator allows in a second.")
    var intensity = 100_000

    @Option(help: "The delay of a child's second restart in a row, in milliseconds; it doubles to the tenfold.")
    var backoff = 0

    @Option(help: "The restarts of workers that each process may make in a second, and twice as many at once.")
    var bucket = 1_000

    @Option(help: "The time for which workers may outlive the root, in seconds.")
    var grace = 10.0

    @Option(help: "The time of the same storm before what the root has is counted, in seconds.")
    var warmUp = 3.0

    @Option(help: "The growth of the root's memory in percent that is allowed; 0: any.")
    var memoryLimit = 5.0

    @Option(help: "The time in milliseconds that 99 of 100 recoveries may take at most; 0: any.")
    var recoveryLimit = 0.0

    @Flag(help: "Keep the directory of the run.")
    var keep = false

    func validate() throws {
        guard killsPerSecond > 0, killsPerSecond <= 1_000 else {
            throw ValidationError("--kills-per-second must be above 0, at most 1,000")
        }
        guard (1...86_400).contains(seconds) else { throw ValidationError("--seconds is from 1 to 86,400") }
        guard (1...Plan.places).contains(parents) else { throw ValidationError("--parents is from 1 to \(Plan.places)") }
        guard (parents...parents * Plan.places).contains(workers) else {
            throw ValidationError("--workers is from 1 to \(Plan.places) for each parent: \(parents) to \(parents * Plan.places)")
        }
        guard (1...64).contains(senders), (0...64).contains(pool) else { throw ValidationError("--senders is from 1 to 64, --pool from 0") }
        guard (1...10_000).contains(rate) else { throw ValidationError("--rate is from 1 to 10,000") }
        guard intensity >= 0, backoff >= 0, bucket >= 1, grace >= 0, warmUp >= 0, pause >= 0 else {
            throw ValidationError("numbers can't be negative")
        }
        guard !faults.all.contains(.end) else { throw ValidationError("--faults has no 'end'") }
    }

    func run() async throws {
        let seed = seed ?? .random(in: 0..<1_000_000)
        print("seed \(seed)")
        let directory = try RunDirectory()
        var plan = Plan()
        plan.directory = directory.path
        plan.seed = seed
        (plan.workers, plan.parents, plan.senders, plan.pool, plan.rate) = (workers, parents, senders, pool, rate)
        (plan.intensity, plan.backoffMilliseconds, plan.bucket) = (intensity, backoff, bucket)
        plan.graceMilliseconds = Int(grace * 1_000)
        Interruption.begin()
        let storm = Storm(seed: seed, killsPerSecond: killsPerSecond, faults: faults.all, targets: targets.all, longestPause: pause)
        var run = try Run(plan, root, storm)
        let problem = await run.carryOut(warmUp: warmUp, seconds: seconds)
        let history = try directory.history()
        var limits = Checker.Limits()
        limits.memoryPercent = memoryLimit > 0 ? memoryLimit : nil
        let verdict = Checker.verdict(on: history, limits: limits)
        let report = Report(verdict, seed: seed, problem: problem, recoveryLimit: recoveryLimit)
        print(report.text)
        if let json { try RunDirectory.write(report.json + "\n", to: json) }
        if let plot { try RunDirectory.write(Plot.svg(of: verdict.samples), to: plot) }
        if report.isOK, !keep { directory.remove() } else { print("the history is in \(directory.path)") }
        guard report.isOK else { throw ExitCode(1) }
    }
}

/// What the tree's root is.
enum RootKind: String, ExpressibleByArgument, CaseIterable {
    /// A program of coordinators that plays the daemon.
    case embedded
    case coordinatord
}

/// The parts of the tree that can be harmed.
enum Target: String, CaseIterable {
    case workers, senders, parents, daemon

    var role: Record.Role {
        switch self {
        case .workers: .leaf
        case .senders: .sender
        case .parents: .parent
        case .daemon: .root
        }
    }
}

/// Some of the cases of a type, as a list with commas.
struct Choices<Choice: RawRepresentable<String> & CaseIterable>: ExpressibleByArgument {
    let all: [Choice]

    init(_ all: [Choice]) { self.all = all }

    init?(argument: String) {
        all = argument.split(separator: ",").compactMap { Choice(rawValue: String($0)) }
        guard !all.isEmpty, all.count == argument.split(separator: ",").count else { return nil }
    }

    var defaultValueDescription: String { all.map(\.rawValue).joined(separator: ",") }
}

/// Whether a signal has told the driver to end early; the run is then ended in order, and judged.
enum Interruption {
    private static let signals = Atomic(false)

    static var hasHappened: Bool { signals.load(ordering: .relaxed) }

    static func begin() {
        for number in [SIGINT, SIGTERM] { signal(number) { _ in Interruption.signals.store(true, ordering: .relaxed) } }
    }
}
