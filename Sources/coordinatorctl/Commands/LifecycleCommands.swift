import ArgumentParser
import Control

/// A command that changes whether coordinators or programs run.
protocol LifecycleCommand: PathsCommand where Answer == LifecycleResult {}

extension LifecycleCommand {
    static var coversDescendants: Bool { true }

    fileprivate static var discussionOfStart: String {
        """
        Returns when the coordinator or program has been up for a second. If it ends before with exit code 0 and isn't to be restarted, the \
        start has succeeded: the end is printed, and the exit code is 0. Otherwise the start has failed: the reason is printed, and the \
        exit code is 1.
        """
    }

    func text(of answer: LifecycleResult) -> String { answer.text }
}

/// The command `start PATH…`.
struct StartCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start stopped coordinators or programs.",
        discussion: discussionOfStart
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .start(path: path) }
}

/// The command `stop PATH…`.
struct StopCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(commandName: "stop", abstract: "Stop coordinators or programs and their descendants.")

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .stop(path: path) }
}

/// The command `restart PATH…`.
struct RestartCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "Stop coordinators or programs and start them again.",
        discussion: """
            \(discussionOfStart)

            With --rolling no request fails: each worker's next process is started first, and checked; then new messages wait, the present \
            life finishes what it has taken and ends, and the new process gets what has waited. With `overlap: true` the new life starts beside \
            the present one, and takes new messages once it's ready. A child with `instances`, named without a \
            number, and a group stand for what runs in them; one is replaced after the other. The first failure ends the command: the paths \
            after it aren't touched.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments
    @Flag(name: .customLong("rolling"), help: "Replace one after the other without a failed request, and stop at the first failure.")
    var isRolling = false

    func operation(on path: String) -> ControlOperation { isRolling ? .replace(path: path) : .restart(path: path) }

    func run() throws { try isRolling ? replaceOneByOne() : runOnPaths() }
}

/// The command `pause PATH…`.
struct PauseCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause coordinators or programs and their descendants.",
        discussion: "Messages to a paused coordinator wait as long as their senders do; a paused program gets no processor time."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .pause(path: path) }
}

/// The command `resume PATH…`.
struct ResumeCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume paused coordinators or programs.",
        discussion: "Each stays paused while one of its ancestors is."
    )

    /// A descendant may have been paused by its own path.
    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .resume(path: path) }
}

/// The command `kill PATH…`.
struct KillCommand: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Kill the processes of coordinators or programs; their supervisors decide about restarts."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .kill(path: path) }
}

/// The command `shutdown`.
struct ShutdownCommand: DaemonCommand {
    /// The result, of which no member is documented.
    struct Nothing: Codable {}

    static let configuration = CommandConfiguration(
        commandName: "shutdown",
        abstract: "Stop the tree and end the daemon.",
        discussion: "A second shutdown gives the processes that still run one second, as a second SIGTERM does."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(help: "Kill the processes that still run at once, also when a shutdown is under way.") var now = false

    func operation() -> ControlOperation { .shutdown(now: now) }

    func text(of answer: Nothing) -> String { "the daemon is shutting down\n" }
}
