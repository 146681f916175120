import ArgumentParser
import ConcurrencySupport
import Control
import Glibc
import WireProtocol

/// The command `nodes`.
struct NodesCommand: DaemonCommand {
    static let configuration = CommandConfiguration(of: ControlOperation.Nodes.self)

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions

    func operation() -> ControlOperation { .nodes }

    func text(of answer: NodeList) -> String { answer.text }
}

/// The command `where PATH`.
struct WhereCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Where.self,
        discussion: """
            The paths are those of children with `placement`, or below them. Exits with 3 when no node owns one, and with 1 when the daemon \
            has lost the store, so that it can't say.
            """
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .location(path: path) }

    func text(of answer: SubtreeLocation) -> String { answer.text }

    func exitCode(of answer: SubtreeLocation) -> Int32 {
        if answer.outdated != nil { return ControlError.Code.failed.exitCode }
        return answer.node == nil ? ControlError.Code.notRunning.exitCode : 0
    }
}

/// The command `drain NODE`.
struct DrainCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Drain.self,
        discussion: """
            Examples: coordinatorctl drain node-b; coordinatorctl drain --wait node-b; coordinatorctl uncordon node-b

            Any daemon of the cluster takes the command. It returns when the node's mark is set, and lists what the node still has, and what \
            can't leave it. With --wait it returns when the node has nothing any more; when all that is left can't leave, such as a child \
            that is kept apart and has no other node, it exits with 1 and names what keeps it. The mark stays then. It ends with `uncordon`, \
            and with the node's membership: a daemon that is started again doesn't drain.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(help: "Wait until the node has given over all that it has; exit with 1 when something can't leave.") var wait = false
    @Option(help: ArgumentHelp("The time after which --wait exits with 75; the node goes on draining. Default: any.", valueName: "time"))
    var timeout: WaitArgument?
    @Flag(help: .hidden) var back = false
    @Argument(help: "The name of a node, as `nodes` shows it.") var node: String

    /// The time between two looks at what the node still has.
    private static let interval = Duration.milliseconds(250)

    func validate() throws {
        if back { throw ValidationError("`drain --back` is `coordinatorctl uncordon \(node)` now") }
        if timeout != nil, !wait { throw ValidationError("--timeout is for --wait") }
    }

    func operation() -> ControlOperation { .drain(node: node, isDraining: true) }

    func text(of answer: NodeList) -> String { answer.text }

    func run() throws {
        let options = options.merged(over: root.options).values
        let (list, json) = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> (NodeList, JSONValue) in
            let patience = ClientPatience(limit: timeout?.duration)
            var client = try options.connect(patience)
            var json = try client.callSingle(operation())
            var list = try ControlJSON.decode(NodeList.self, from: json)
            var shown: String?
            if wait, let outdated = list.outdated { throw ControlError(.failed, "it isn't known what \(node) has: \(outdated)") }
            while wait, let left = list.leaving, left.contains(where: { $0.blocked == nil }) {
                let names = left.map(\.path).joined(separator: " ")
                if names != shown, !options.isJSON { Terminal.printError("coordinatorctl: \(node) still has \(names)\n") }
                shown = names
                let pause = max(.zero, min(Self.interval, patience.end - MonotonicTime.now))
                usleep(useconds_t(pause / .microseconds(1)))
                guard MonotonicTime.now < patience.end else {
                    throw ControlError(.timedOut, "\(node) still has \(names), and goes on draining")
                }
                json = try client.callSingle(.nodes)
                list = try ControlJSON.decode(NodeList.self, from: json)
                if let outdated = list.outdated { throw ControlError(.failed, "it isn't known any more what \(node) has: \(outdated)") }
                list.narrow(to: node)
                if let entry = list.nodes.first, !entry.drains {
                    throw ControlError(.failed, "\(node) doesn't drain any more: it was uncordoned, or its daemon was started again")
                }
                json = try ControlJSON.value(of: list)
            }
            return (list, json)
        }
        try Terminal.print(options.isJSON ? try ControlJSON.text(of: json) + "\n" : list.text)
        guard wait, let left = list.leaving else { return }
        if !options.isJSON {
            Terminal.printError("coordinatorctl: \(node) isn't empty: \(left.map(\.path).joined(separator: " ")) can't leave it\n")
        }
        throw ExitCode(ControlError.Code.failed.exitCode)
    }
}

/// The command `uncordon NODE`.
struct UncordonCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "uncordon",
        abstract: ControlOperation.Drain.summaryOfTheEnd,
        discussion: "What the node has given over stays where it is; `move` brings it back."
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: "The name of a node, as `nodes` shows it.") var node: String

    func operation() -> ControlOperation { .drain(node: node, isDraining: false) }

    func text(of answer: NodeList) -> String { answer.text }
}

/// The command `move PATH NODE`.
struct MoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Move.self,
        discussion: """
            Examples: coordinatorctl move /shop node-b; coordinatorctl unpin /shop

            The subtree stops where it is, as its `stop_timeout` says, and starts on the node; the command returns when the node has it. One \
            that the node may not have, or can't run, isn't moved: the command says why, exits with 1, and leaves the pin as it was. When the \
            node is lost later, the subtree runs elsewhere until it's back. A subtree that was given up is tried again.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(help: .hidden) var anywhere = false
    @Argument(help: "The path of a child with `placement`, such as /shop.") var path: String
    @Argument(help: "The name of a node, as `nodes` shows it.") var node: String?
    @OptionGroup var wait: WaitOptions

    var waiting: WaitOptions? { wait }

    func validate() throws {
        if anywhere { throw ValidationError("`move --anywhere` is `coordinatorctl unpin \(path)` now") }
        if node == nil { throw ValidationError("a node is needed; `coordinatorctl nodes` lists them") }
    }

    func operation() -> ControlOperation { .move(path: path, node: node) }

    func text(of answer: SubtreeLocation) -> String { answer.text }
}

/// The command `unpin PATH…`.
struct UnpinCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: ControlOperation.Move.summaryOfTheEnd,
        discussion: "The subtree stays where it is. One that was given up is tried again."
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .move(path: path, node: nil) }

    func text(of answer: SubtreeLocation) -> String { answer.text }
}
