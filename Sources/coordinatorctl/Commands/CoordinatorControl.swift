import ArgumentParser
import Control

/// The operator's command, which sends requests to a running daemon and checks configuration files.
@main
struct CoordinatorControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinatorctl",
        abstract: "Operate a running coordinatord.",
        discussion: """
            Exit codes: 0 ok, 1 failed, 3 not running, 4 no such path, 64 usage, 69 daemon unreachable, 75 timed out, 77 not permitted, \
            78 bad configuration.

            The runtime directory is that of --runtime-dir, else COORDINATOR_RUNTIME_DIR, else $XDG_RUNTIME_DIR/coordinator, else \
            /run/coordinator.

            With --json, errors are objects too: {"error":{"code":"...","message":"..."}}, on standard error.
            """,
        version: Release.version,
        subcommands: [
            TreeCommand.self, ProcessesCommand.self, StatusCommand.self, StartCommand.self, StopCommand.self, RestartCommand.self,
            PauseCommand.self, ResumeCommand.self, KillCommand.self, AskCommand.self, SendCommand.self, BenchCommand.self,
            DeadLettersCommand.self, ConfigurationCommand.self, ShutdownCommand.self,
        ]
    )

    @OptionGroup var options: CommonOptions
}
