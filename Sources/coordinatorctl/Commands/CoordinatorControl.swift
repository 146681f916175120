import ArgumentParser
import Control
import Dispatch
import Glibc
import WireProtocol

/// The operator's command, which sends requests to a running daemon and checks configuration files.
@main
struct CoordinatorControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinatorctl",
        abstract: "Operate a running coordinatord.",
        discussion: """
            Exit codes: 0 ok, 1 failed, 3 not running, 4 no such path, 5 unhealthy, 64 usage, 69 daemon unreachable, 75 timed out, 77 not permitted, \
            78 bad configuration.

            The runtime directory is that of --runtime-dir, else COORDINATOR_RUNTIME_DIR, else $XDG_RUNTIME_DIR/coordinator if a daemon \
            is there, else /run/coordinator.

            With --json, errors are objects too: {"error":{"code":"...","message":"..."}}, on standard error.
            """,
        version: Release.version,
        subcommands: [
            TreeCommand.self, ProcessesCommand.self, StatusCommand.self, LifecycleCommand<ControlOperation.Start>.self,
            LifecycleCommand<ControlOperation.Stop>.self, RestartCommand.self, ScaleCommand.self,
            LifecycleCommand<ControlOperation.Pause>.self, LifecycleCommand<ControlOperation.Resume>.self,
            LifecycleCommand<ControlOperation.Kill>.self, AskCommand.self, SendCommand.self, BenchCommand.self, DeadLettersCommand.self,
            MetricsCommand.self, ConfigurationCommand.self, ShutdownCommand.self, SignalCommand.self, MailboxCommand.self, TopCommand.self,
            DoctorCommand.self, CompletionCommand.self, UpgradeCommand.self, LogsCommand.self, EventsCommand.self, HistoryCommand.self,
            ImportCommand.self, NodesCommand.self, WhereCommand.self, DrainCommand.self, UncordonCommand.self, MoveCommand.self,
            UnpinCommand.self, SchemasCommand.self, LifecycleCommand<ControlOperation.Reload>.self, FlowsCommand.self,
            FlowCommand.self,
        ]
    )

    @OptionGroup var options: CommonOptions

    /// Runs the command that the arguments name.
    ///
    /// Most commands need one thread, so that nothing of Swift's concurrency is started for them.
    static func main() {
        do {
            if let arguments = PlainArguments(CommandLine.arguments.dropFirst()) { return try arguments.run() }
            try checkHelp()
            try checkCommand()
            var command = try parseAsRoot()
            if let command = command as? any AsyncParsableCommand { run(command) }
            try command.run()
        } catch {
            end(with: error)
        }
    }

    private static func run(_ command: any AsyncParsableCommand) -> Never {
        // Unsafe: nothing but the task uses the command from here on.
        nonisolated(unsafe) var command = command
        Task {
            do {
                try await command.run()
                Glibc.exit(0)
            } catch {
                end(with: error)
            }
        }
        dispatchMain()
    }

    /// Refuses help about a command that there isn't, which the parser answers with the help of all commands and success.
    private static func checkHelp() throws {
        guard CommandLine.arguments.dropFirst().first == "help" else { return }
        var command: any ParsableCommand.Type = Self.self
        for name in CommandLine.arguments.dropFirst(2) where !name.hasPrefix("-") {
            let next = command.configuration.subcommands.first { subcommand in
                subcommand.configuration.commandName == name || subcommand.configuration.aliases.contains(name)
            }
            guard let next else { throw unknown(name, in: command) }
            command = next
        }
    }

    /// Refuses a command that there isn't, which the parser takes for an argument too many.
    private static func checkCommand() throws {
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.first, argument.hasPrefix("-") {
            arguments = arguments.dropFirst(argument == "--runtime-dir" ? 2 : 1)
        }
        var command: any ParsableCommand.Type = Self.self
        while let name = arguments.popFirst(), !command.configuration.subcommands.isEmpty, !name.hasPrefix("-"), name != "help" {
            guard let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == name }) else {
                // A path is for the command that is meant without a name; two words are a name and a path.
                let isPath = name.contains { "/*?".contains($0) } || arguments.first.map { $0.hasPrefix("-") } ?? true
                if command.configuration.defaultSubcommand != nil, isPath { return }
                throw unknown(name, in: command)
            }
            command = next
        }
    }

    /// What other programs call a command.
    private static let others = [
        "list": "tree", "ls": "tree", "show": "status", "describe": "status", "update": "config apply",
        "reread": "config diff", "tail": "logs", "log": "logs", "journal": "logs", "down": "shutdown", "cordon": "drain",
        "pin": "move", "rescale": "scale", "validate": "config check",
    ]

    private static func unknown(_ name: String, in command: any ParsableCommand.Type) -> ValidationError {
        let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
        let suggestion = (command is Self.Type ? others[name] : nil) ?? Spelling.suggestion(for: name, among: names)
        let hint = suggestion.map { "did you mean `\($0)`?" } ?? "`coordinatorctl help` lists them"
        return ValidationError("there is no command '\(name)'; \(hint)")
    }

    /// Prints an error of the arguments, as an object under `--json`, and exits; other errors were printed already.
    private static func end(with error: any Error) -> Never {
        let message = message(for: error)
        guard CommandLine.arguments.contains("--json"), exitCode(for: error) == .validationFailure, !message.isEmpty else {
            exit(withError: error)
        }
        Terminal.printError(Terminal.json(of: ControlError(.invalidRequest, message)))
        Glibc.exit(ControlError.Code.invalidRequest.exitCode)
    }
}
