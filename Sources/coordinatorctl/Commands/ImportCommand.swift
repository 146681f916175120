import ArgumentParser
import Control

/// The command `import FILE`.
struct ImportCommand: ParsableCommand {
    /// The supervisors whose files can be read.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case supervisord, circus, procfile, pm2, systemd
        case processCompose = "process-compose"
    }

    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Write the file of another supervisor as one of the daemon's; needs no daemon.",
        discussion: """
            Reads supervisord.conf, circus.ini, a Procfile, pm2's ecosystem.json, process-compose.yaml or systemd's units, and prints the daemon's \
            file to standard output. What that doesn't carry over is printed to standard error, one thing a line, in the form file:line: \
            subject: what to do.

            Runs `coordinatord --import FILE`, of the executable beside this one, or else in PATH.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("Whose file it is; by default its name and content tell.", valueName: "format"))
    var from: Format?
    @Argument(help: "The other supervisor's file.") var file: String

    func run() throws {
        let options = options.merged(over: root.options)
        let arguments = ["--import=\(file)"] + (from.map { ["--import-from=\($0.rawValue)"] } ?? []) + (options.isJSON ? ["--json"] : [])
        let failure = DaemonExecutable.run(arguments)
        try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> Void in throw failure }
    }
}
