import ArgumentParser
import Control

/// A command that changes whether a path runs.
protocol LifecycleCommand: DaemonCommand where Answer == LifecycleResult {}

extension LifecycleCommand {
    fileprivate static var discussionOfStart: String {
        """
        Returns when it has been up for a second. What ends before has been started too if it has done its work (it ended with exit code 0, \
        and isn't to be started again): then how it ended is printed, and the exit code is 0. Otherwise the start has failed, with exit code 1 \
        and the reason.
        """
    }

    func text(of answer: LifecycleResult) -> String { answer.text }
}

/// The command `start PATH`.
struct StartCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start what was stopped.",
        discussion: discussionOfStart
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path) var path: String

    func operation() -> ControlOperation { .start(path: path) }
}

/// The command `stop PATH`.
struct StopCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(commandName: "stop", abstract: "Stop a coordinator or program and what is below it.")

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path) var path: String

    func operation() -> ControlOperation { .stop(path: path) }
}

/// The command `restart PATH`.
struct RestartCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "Stop it and start it again.",
        discussion: discussionOfStart
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path) var path: String

    func operation() -> ControlOperation { .restart(path: path) }
}

/// The command `pause PATH`.
struct PauseCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause a coordinator or program and what is below it.",
        discussion: "What is sent to a paused coordinator waits, for as long as its sender does; a paused program gets no processor time."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path) var path: String

    func operation() -> ControlOperation { .pause(path: path) }
}

/// The command `resume PATH`.
struct ResumeCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume what was paused.",
        discussion: "It stays paused while something above it is."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path) var path: String

    func operation() -> ControlOperation { .resume(path: path) }
}

/// The command `kill PATH`.
struct KillCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Kill its process; what becomes of it is its supervisor's decision."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: .path) var path: String

    func operation() -> ControlOperation { .kill(path: path) }
}

/// The command `shutdown`.
struct ShutdownCommand: DaemonCommand {
    /// The daemon's result has nothing that is promised.
    struct Nothing: Codable {}

    static let configuration = CommandConfiguration(
        commandName: "shutdown",
        abstract: "Stop the tree and end the daemon.",
        discussion: "A second one gives what still runs a second more, as a second SIGTERM does; with --now it's killed at once."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(help: "Kill what still runs at once, also when a shutdown is under way.") var now = false

    func operation() -> ControlOperation { .shutdown(now: now) }

    func text(of answer: Nothing) -> String { "the daemon is shutting down\n" }
}
