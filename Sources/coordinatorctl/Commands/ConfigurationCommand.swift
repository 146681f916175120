import ArgumentParser
import Control

/// The command `config …`.
struct ConfigurationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Work with configuration files.",
        subcommands: [Check.self, Difference.self, Apply.self]
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions

    /// The command `config check FILE`.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Check a configuration file; needs no daemon.",
            discussion: """
                Prints every problem to standard error in the form file:line:column: problem; expectation. Executables and directories must \
                exist: this command resolves relative paths from its working directory, the daemon from its own.

                Runs `coordinatord --check-config FILE`, of the executable beside this one, or else in PATH.
                """
        )

        @ParentCommand var parent: ConfigurationCommand
        @OptionGroup var options: CommonOptions
        @Flag(help: "Executables and directories that aren't there are no problems, as at the daemon's start.") var syntaxOnly = false
        @Argument(help: "The YAML or JSON file.") var file = "/etc/coordinator/tree.yaml"

        func run() throws {
            let options = options.merged(over: parent.options).merged(over: parent.root.options)
            let flags = (options.isJSON ? ["--json"] : []) + (syntaxOnly ? ["--syntax-only"] : [])
            let failure = DaemonExecutable.run(["--check-config=\(file)"] + flags)
            try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> Void in throw failure }
        }
    }
}
