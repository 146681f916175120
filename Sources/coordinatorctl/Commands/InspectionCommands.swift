import ArgumentParser
import Control
import WireProtocol

/// The command `tree`.
struct TreeCommand: PlainCommand {
    typealias Answer = TreeNode

    static let configuration = CommandConfiguration(of: ControlOperation.Tree.self)

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions

    static var operation: ControlOperation { .tree }

    static func text(of answer: TreeNode) -> String { answer.text(.ofOutput) }
}

/// The command `ps`.
struct ProcessesCommand: PlainCommand {
    typealias Answer = ProcessList

    static let configuration = CommandConfiguration(
        of: ControlOperation.ProcessListing.self,
        discussion: """
            In a cluster whose nodes listen for one another, also those of children with `placement` that other nodes have. A node that hasn't \
            told of them within two seconds is named after the table. With --node, all processes of that node alone.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var place: NodeOption

    static var operation: ControlOperation { .ps }

    func operation() -> ControlOperation { Self.operation.on(place.node) }

    static func text(of answer: ProcessList) -> String { answer.text(.ofOutput) }
}

/// The command `status PATH…`.
struct StatusCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Status.self,
        discussion: """
            The exit code by state: active 0, paused 0; inactive, waiting, starting, stopping, restarting, failed, unresponsive and every \
            state that a later version may have 3; unhealthy 5; 4 when no coordinator or program has the path. With several paths, that of the \
            first that isn't 0.
            """
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var selection: PathArguments

    func operation(on path: String) -> ControlOperation { .status(path: path) }

    func text(of answer: TreeNode) -> String { answer.details(.ofOutput) }

    func exitCode(of answer: TreeNode) -> Int32 {
        answer.shownState?.statusExitCode ?? ShownState.unknownStatusExitCode
    }
}

/// The command `dead-letters`.
struct DeadLettersCommand: PlainCommand {
    typealias Answer = DeadLetterList

    static let configuration = CommandConfiguration(of: ControlOperation.DeadLetters.self)

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var place: NodeOption

    static var operation: ControlOperation { .deadLetters }

    func operation() -> ControlOperation { Self.operation.on(place.node) }

    static func text(of answer: DeadLetterList) -> String { answer.text }
}

/// The command `metrics`.
struct MetricsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Metrics.self,
        discussion: """
            Asks are counted when the daemon's file has `observability: { metrics: {} }`. The time is that from an ask's arrival in the \
            coordinator's process to its answer; half of the asks took at most P50, and 99 of 100 at most P99.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var place: NodeOption

    func operation() -> ControlOperation { .metrics.on(place.node) }

    func text(of answer: TreeMetrics) -> String { answer.text }
}

extension ArgumentHelp {
    static let path = ArgumentHelp("The path in the tree, such as /shop/cart.")
}
