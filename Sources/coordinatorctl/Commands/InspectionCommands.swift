import ArgumentParser
import Control
import WireProtocol

/// The command `tree [PATH…]`.
struct TreeCommand: PathsCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Tree.self,
        discussion: """
            With paths, what is at and below each of them. On a terminal, lines end at its edge. With --failed and --json, the object of what \
            is named is there in any case, without those of its descendants that run as they should.
            """
    )

    static let coversDescendants = true

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var given: OptionalPathArguments
    @Flag(help: "Show only what doesn't run as it should, and what that is in.") var failed = false

    var selection: PathArguments { given.selection }

    func operation(on path: String) -> ControlOperation { .status(path: path) }

    func text(of answer: TreeNode) -> String { (failed ? answer.onlyTroubled : answer)?.text(.ofOutput) ?? "" }

    func complete(_ outcomes: inout [PathOutcome<TreeNode>], by client: inout BlockingControlClient, isJSON: Bool) {
        guard failed, isJSON else { return }
        for (index, outcome) in outcomes.enumerated() {
            if case .success(let (json, node)) = outcome.result { outcomes[index].result = .success((node.troubled(json), node)) }
        }
    }

    func run() throws {
        guard given.isEmpty else { return try runOnPaths() }
        try Self.run(options.merged(over: root.options).values, isOnlyTrouble: failed)
    }

    /// Prints the whole tree.
    ///
    /// - Parameter isOnlyTrouble: Whether what runs as it should is left out.
    static func run(_ options: CommonValues, isOnlyTrouble: Bool = false) throws(ExitCode) {
        let output = try Terminal.exitingOnFailure(isJSON: options.isJSON) { () throws(ControlError) -> String in
            var client = try options.connect()
            let json = try client.call(.tree)
            if options.isJSON, !isOnlyTrouble { return try ControlJSON.text(of: json) + "\n" }
            let tree = try ControlJSON.decode(TreeNode.self, from: json)
            if options.isJSON { return try ControlJSON.text(of: tree.troubled(json)) + "\n" }
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
            Without a path, the tree. With paths, what is known of each, and what it has written last; the command, and the processor time and \
            the memory of the process with its descendants, are those that this machine's kernel tells. Lines end at the terminal's edge.

            The exit code by state: active 0, paused 0; inactive, waiting, starting, stopping, restarting, failing, \
            failed, unresponsive and every state that a later version may have 3; unhealthy 5; 4 when no coordinator or program has the path. \
            With several paths, that of the first that isn't 0.
            """
    )

    static let coversDescendants = false

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @OptionGroup var given: OptionalPathArguments
    @Option(
        name: [.customShort("n"), .customLong("lines")],
        help: "The number of lines of each path's log, from the end; with --json they are there only with this option. Default: 10."
    )
    var lines: Int?

    var selection: PathArguments { given.selection }

    func validate() throws {
        if let lines, !(0...10_000).contains(lines) { throw ValidationError("--lines is \(lines); expected 0 to 10000") }
        if lines != nil, given.isEmpty { throw ValidationError("--lines is for paths: name some, or give --all") }
    }

    func operation(on path: String) -> ControlOperation { .status(path: path) }

    func text(of answer: TreeNode) -> String { answer.details(.ofOutput) }

    func complete(_ outcomes: inout [PathOutcome<TreeNode>], by client: inout BlockingControlClient, isJSON: Bool) throws(ControlError) {
        let nodes = outcomes.compactMap { try? $0.result.get().1 }
        let facts = isJSON ? nil : ProcessFacts(of: nodes)
        for (index, outcome) in outcomes.enumerated() {
            guard case .success((var json, let node)) = outcome.result else { continue }
            let log = isJSON && lines == nil ? nil : client.lastLines(lines ?? 10, of: node.path)
            if !isJSON {
                outcomes[index].text = node.details(.ofOutput, facts) + (log.map { Self.text(of: $0) } ?? "")
            } else if case .success(let items)? = log {
                json["log"] = .array(items.map { $0.json })
                outcomes[index].result = .success((json, node))
            } else if case .failure(let error)? = log {
                throw error
            }
        }
    }

    /// Returns the last lines, after an empty one; nothing when there are none.
    private static func text(of log: Result<[(json: JSONValue, line: LogLine)], ControlError>) -> String {
        let layout = StreamLayout()
        switch log {
        case .success(let items): return (items.isEmpty ? "" : "\n") + items.map { layout.line($0.line.text) + "\n" }.joined()
        case .failure(let error): return "\nits log can't be read: \(TextLayout.printable(error.message))\n"
        }
    }

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

extension BlockingControlClient {
    /// Returns the last lines that what is at and below a path has written: none of what has no log.
    fileprivate mutating func lastLines(_ count: Int, of path: String) -> Result<[(json: JSONValue, line: LogLine)], ControlError> {
        do throws(ControlError) {
            if count == 0 { return .success([]) }
            var lines: [(json: JSONValue, line: LogLine)] = []
            for item in try items(of: .logs(LogQuery(paths: [path], lines: count))) {
                lines.append((json: item, line: try ControlJSON.decode(LogLine.self, from: item)))
            }
            return .success(lines)
        } catch {
            return error.code == .noSuchPath ? .success([]) : .failure(error)
        }
    }
}
