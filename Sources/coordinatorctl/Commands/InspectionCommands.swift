import ArgumentParser
import Control
import WireProtocol

/// The command `tree [PATH…]`.
struct TreeCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Tree.self,
        discussion: "With paths, what is at and below each of them. On a terminal, lines end at its edge."
    )

    static let coversDescendants = true

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var given: OptionalPathArguments
    @Flag(help: "Show only what doesn't run as it should, and what that is in; not with --json.") var failed = false

    var selection: PathArguments { given.selection }

    func operation(on path: String) -> ControlOperation { .status(path: path) }

    func text(of answer: TreeNode) -> String { (failed ? answer.onlyTroubled : answer)?.text(.ofOutput) ?? "" }

    func run() throws {
        guard given.isEmpty else { return try runOnPaths() }
        try Self.run(options.merged(over: root.options).values, isOnlyTrouble: failed)
    }

    /// Prints the whole tree.
    ///
    /// - Parameter isOnlyTrouble: Whether what runs as it should is left out; an object is left whole.
    static func run(_ options: CommonValues, isOnlyTrouble: Bool = false) throws(ExitCode) {
        let output = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> String in
            var client = try options.connect()
            let json = try client.call(.tree)
            if options.isJSON { return try ControlJSON.text(of: json) + "\n" }
            let tree = try ControlJSON.decode(TreeNode.self, from: json)
            return (isOnlyTrouble ? tree.onlyTroubled : tree)?.text(.ofOutput) ?? ""
        }
        try Terminal.print(output)
    }
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

/// The command `status [PATH…]`.
struct StatusCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Status.self,
        discussion: """
            Without a path, the tree. The exit code by state: active 0, paused 0; inactive, waiting, starting, stopping, restarting, failing, \
            failed, unresponsive and every state that a later version may have 3; unhealthy 5; 4 when no coordinator or program has the path. \
            With several paths, that of the first that isn't 0.
            """
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var given: OptionalPathArguments

    var selection: PathArguments { given.selection }

    func operation(on path: String) -> ControlOperation { .status(path: path) }

    func text(of answer: TreeNode) -> String { answer.details(.ofOutput) }

    func run() throws { try given.isEmpty ? TreeCommand.run(options.merged(over: root.options).values) : runOnPaths() }

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
