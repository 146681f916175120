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
            discussion: """
                Prints every problem to standard error in the form file:line:column: problem; expectation. Executables and directories must \
                exist: this command resolves relative paths from its working directory, the daemon from its own.
                """
        )

        @ParentCommand var parent: ConfigurationCommand
        @OptionGroup var options: CommonOptions
        @Argument(help: "The YAML or JSON file.") var file: String

        func run() async throws {
            let options = options.merged(over: parent.options).merged(over: parent.root.options)
            let configuration: DaemonConfiguration
            do throws(ConfigurationError) {
                configuration = try DaemonConfiguration.load(path: file, checkingFiles: true)
            } catch {
                let json = options.isJSON ? try? ControlJSON.text(of: ConfigurationReport(of: error)) : nil
                Terminal.printError((json ?? error.description) + "\n")
                throw ExitCode(ControlError.Code.badConfiguration.exitCode)
            }
            let summary = ConfigurationSummary(of: configuration, file: file)
            let text = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) in
                options.isJSON ? try ControlJSON.text(of: summary) + "\n" : summary.text
            }
            try Terminal.print(text)
        }
    }
}
