import ArgumentParser
import Control
import DaemonConfiguration

/// The command `config …`.
struct ConfigurationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Work with configuration files.",
        subcommands: [Check.self]
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions

    /// The command `config check FILE`.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Check a configuration file; needs no daemon.",
            discussion: "Every problem is printed to standard error as file:line:column: what is wrong; what was expected."
        )

        @ParentCommand var parent: ConfigurationCommand
        @OptionGroup var options: CommonOptions
        @Argument(help: "The YAML or JSON file.") var file: String

        func run() async throws {
            let options = options.merged(over: parent.options).merged(over: parent.root.options)
            let configuration: DaemonConfiguration
            do throws(ConfigurationError) {
                configuration = try DaemonConfiguration.load(path: file)
            } catch {
                Terminal.printError(error.description + "\n")
                throw ExitCode(ControlError.Code.badConfiguration.exitCode)
            }
            let summary = ConfigurationSummary(of: configuration, file: file)
            try Terminal.exitingOnFailure { () throws(ControlError) in
                Terminal.print(options.isJSON ? try ControlJSON.text(of: summary) + "\n" : summary.text)
            }
        }
    }
}
