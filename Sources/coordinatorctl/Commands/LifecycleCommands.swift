import ArgumentParser
import Control

/// A command that changes whether coordinators or programs run, as its operation's description says.
struct LifecycleCommand<Operation: DescribedOperation>: PathsCommand where Operation.Answer == LifecycleResult {
    static var configuration: CommandConfiguration { CommandConfiguration(of: Operation.self, discussion: Operation.details) }
    static var coversDescendants: Bool { Operation.traits.contains(.coversDescendants) }

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments
    @OptionGroup var wait: WaitOptions

    var waiting: WaitOptions? { wait }

    func operation(on path: String) -> ControlOperation { Operation.at(path) }

    func text(of answer: LifecycleResult) -> String { answer.text }
}

extension CommandConfiguration {
    /// Creates the configuration of an operation's command.
    init(of operation: (some DescribedOperation).Type, name: String? = nil, usage: String? = nil, discussion: String = "") {
        self.init(commandName: name ?? operation.name, abstract: operation.summary, usage: usage, discussion: discussion)
    }
}

/// The command `restart PATH…`.
struct RestartCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Restart.self,
        discussion: """
            \(ControlOperation.detailsOfStart)

            With --rolling no request fails: each worker's next process is started first, and checked; then new messages wait, the present \
            life finishes what it has taken and ends, and the new process gets what has waited. With `overlap: true` the new life starts beside \
            the present one, and takes new messages once it's ready. A child with `instances`, named without a \
            number, and a group stand for what runs in them; one is replaced after the other. The first failure ends the command: the paths \
            after it aren't touched.
            """
    )

    static let coversDescendants = true

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments
    @Flag(name: .customLong("rolling"), help: "Replace one after the other without a failed request, and stop at the first failure.")
    var isRolling = false
    @OptionGroup var wait: WaitOptions

    var waiting: WaitOptions? { wait }

    func validate() throws {
        if isRolling, wait.isBrief { throw ValidationError("--no-wait isn't for --rolling: the command itself goes on to the next path") }
    }

    func operation(on path: String) -> ControlOperation { isRolling ? .replace(path: path) : .restart(path: path) }

    func text(of answer: LifecycleResult) -> String { answer.text }

    func run() throws { try isRolling ? replaceOneByOne() : runOnPaths() }
}

/// The command `shutdown`.
struct ShutdownCommand: DaemonCommand {
    /// The result, of which no member is documented.
    struct Nothing: Codable {}

    static let configuration = CommandConfiguration(
        of: ControlOperation.Shutdown.self,
        discussion: "A second shutdown gives the processes that still run one second, as a second SIGTERM does."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(help: "Kill the processes that still run at once, also when a shutdown is under way.") var now = false
    @OptionGroup var wait: WaitOptions

    var waiting: WaitOptions? { wait }

    func operation() -> ControlOperation { .shutdown(now: now) }

    func text(of answer: Nothing) -> String { "the daemon is shutting down\n" }
}
