import ArgumentParser
import Foundation

/// Runs our program and its peers in turn, and reports how they compare.
@main
struct Compare: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Benchmarks/run",
        abstract: "Measures coordinators beside their peers, and prints a table: figure, ours, each peer, ratio, gate and goal.",
        discussion: "Use a quiet machine. A full run takes up to 20 minutes, a quick one up to 3."
    )

    @Option(help: "Measure only figures whose name, or whose experiment's name, contains this text.")
    var only: String?

    @Flag(
        help: """
            Measure only the figures that have a gate, but for those of ten thousand flows, beside DBOS and of a cluster, and for a shorter time.
            """
    )
    var quick = false

    @Option(help: "Write the figures to this file as JSON.", completion: .file())
    var json: String?

    @Option(help: "Write the plots to this directory as SVG.", completion: .directory)
    var plots: String?

    @Flag(help: "List the experiments and their figures, and measure nothing.")
    var list = false

    @Option(help: ArgumentHelp("The directory of the programs that are measured.", visibility: .private))
    var products: String

    @Option(help: ArgumentHelp("The directory of the peers' programs.", visibility: .private))
    var peers: String

    func run() throws {
        let directory = try TemporaryDirectory()
        defer { directory.remove() }
        let disk = try TemporaryDirectory(in: products)
        defer { disk.remove() }
        let programs = Programs(products: products, peers: peers, directory: directory.path, disk: disk.path)
        let experiments = Plan(quick: quick, programs: programs).experiments(containing: only)
        guard !experiments.isEmpty else { throw ValidationError("No figure's name contains '\(only ?? "")': see --list.") }
        if list { return experiments.forEach { print($0) } }

        let machine = Machine()
        let log = "\(products)/measurements.log"
        let runner = try Runner(directory: directory.path, log: log)
        let progress = Progress()
        let results = measure(experiments, programs, runner, progress)
        progress.finish()

        try report(results, of: machine)
        if !results.omissions.isEmpty { print("What the programs said is in \(log).") }
        if Interruption.hasCome { throw ExitCode(130) }
        if results.figures.contains(where: { $0.ours == nil }) { throw ExitCode.failure }
    }

    private func report(_ results: Results, of machine: Machine) throws {
        print(Table(results.figures, title: machine.description))
        if machine.isBusy { print("The machine was busy when the run began: don't believe the figures.") }
        for omission in results.omissions { print("Not measured: \(omission)") }
        if let json { try JSONReport(results.figures, machine).write(to: json) }
        if let plots { try Plots(results.figures, machine).write(to: plots) }
    }

    private func measure(_ experiments: [Experiment], _ programs: Programs, _ runner: Runner, _ progress: Progress) -> Results {
        let end = ContinuousClock.now + (quick ? .seconds(170) : .seconds(1_170))
        var results = Results()
        for (index, experiment) in experiments.enumerated() where !Interruption.hasCome {
            guard ContinuousClock.now + experiment.longestRun < end else {
                results.add((experiment.unmeasured, ["\(experiment.name), because the time is used up"]))
                continue
            }
            progress.begin(experiment.name, index + 1, of: experiments.count)
            if experiment.programs.contains(where: { $0.command[0] == programs.measure }) {
                do throws(RunFailure) { _ = try runner.run(programs.renewal, until: end) } catch {
                    results.add(([], ["\(experiment.name) in large pages: \(error.description)"]))
                }
            }
            results.add(experiment.measure(runner, until: end) { progress.show($0) })
        }
        return results
    }
}
