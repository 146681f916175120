import ArgumentParser
import Control

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
        discussion: "The paths are those of children with `placement`, or below them. Exits with 3 when no node owns one."
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .whereabouts(path: path) }

    func text(of answer: Whereabouts) -> String { answer.text }

    func exitCode(of answer: Whereabouts) -> Int32 { answer.node == nil ? ControlError.Code.notRunning.exitCode : 0 }
}

/// The command `drain NODE`.
struct DrainCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Drain.self,
        discussion: """
            Example: coordinatorctl drain node-b; coordinatorctl drain --back node-b

            Any daemon of the cluster takes the command. It returns when the node's mark is set; `nodes` shows what the node still owns. A \
            subtree that no other node may have stays where it is. The mark ends with the node's membership: a daemon that is started again \
            doesn't drain.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(help: "Let the node take subtrees again.") var back = false
    @Argument(help: "The name of a node, as `nodes` shows it.") var node: String

    func operation() -> ControlOperation { .drain(node: node, isDraining: !back) }

    func text(of answer: NodeList) -> String { answer.text }
}

/// The command `move PATH NODE`.
struct MoveCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Move.self,
        discussion: """
            Examples: coordinatorctl move /shop node-b; coordinatorctl move --anywhere /shop

            The subtree stops where it is, as its `stop_timeout` says, and starts on the node. While that node isn't there, or may not have it, \
            the subtree runs elsewhere. A subtree that was given up is tried again. The command returns when the pin is written; `where` \
            shows how far the move is.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Flag(help: "Take the pin away.") var anywhere = false
    @Argument(help: "The path of a child with `placement`, such as /shop.") var path: String
    @Argument(help: "The name of a node, as `nodes` shows it.") var node: String?

    func validate() throws {
        guard (node == nil) == anywhere else { throw ValidationError("a node, or --anywhere, is needed") }
    }

    func operation() -> ControlOperation { .move(path: path, node: node) }

    func text(of answer: Whereabouts) -> String { answer.text }
}
