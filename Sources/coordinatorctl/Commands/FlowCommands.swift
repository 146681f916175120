import ArgumentParser
import Control
import WireProtocol

extension ControlOperation.Flows.Selection: EnumerableFlag {
    static func help(for value: Self) -> ArgumentHelp? {
        switch value {
        case .open: "Show those that aren't over."
        case .parked: "Show those that don't go on before somebody says how."
        case .due: "Show those that have something to do now."
        case .finished: "Show those that have come to their end in the last seven days."
        }
    }
}

/// The command `flows [PATH]`.
struct FlowsCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Flows.self,
        discussion: """
            FAILED counts the attempts that have failed at the page that is worked on, OUT the messages that haven't left, or whose end isn't \
            known. DUE is the time from which on the flow has something to do; `now`: it's at work, or about to be; a dash: it waits.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: "The path at and below which the flows are.", completion: .livePaths) var path = "/"
    @Flag(exclusivity: .exclusive) var selection: ControlOperation.Flows.Selection?
    @Option(help: ArgumentHelp("Show those after this path, as the last line has it.", valueName: "path")) var after: String?
    @Option(help: ArgumentHelp("Show so many at most. Default: 1000, and at most.", valueName: "number")) var limit: Int?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit is a number of at least 1") }
    }

    func operation() -> ControlOperation { .flows(path: path, selection: selection?.rawValue, after: after, limit: limit) }

    func text(of answer: FlowList) -> String {
        guard !answer.flows.isEmpty else { return "no flows\n" + rest(of: answer) }
        let rows = answer.flows.map { flow in
            [
                flow.path, flow.status, flow.pages.last.map { $0.pageText } ?? "-", "\(flow.failures)", "\(flow.outgoing)", flow.dueText,
                flow.error ?? "",
            ]
            .map(TextLayout.printable)
        }
        let header = ["PATH", "STATUS", "PAGE", "FAILED", "OUT", "DUE", "ERROR"]
        return TextLayout.table([header] + rows, [.left, .left, .left, .right, .right, .left, .left]) + rest(of: answer)
    }

    private func rest(of answer: FlowList) -> String {
        let unanswered = (answer.unanswered ?? []).map {
            "\(TextLayout.printable($0)) says nothing of flows: if it has some, they're missing\n"
        }
        return unanswered.joined() + (answer.next.map { "there are more: --after \(TextLayout.printable($0))\n" } ?? "")
    }

    func exitCode(of answer: FlowList) -> Int32 { answer.unanswered == nil ? 0 : ControlError.Code.timedOut.exitCode }
}

extension JSONValue {
    /// A page as text: its name, or its JSON.
    fileprivate var pageText: String {
        switch self {
        case .string(let name): name
        default: (try? ControlJSON.text(of: self)) ?? "?"
        }
    }
}

extension FlowList.Entry {
    /// The time at which the flow has something to do, for people.
    fileprivate var dueText: String { due.map { $0 <= Timestamp.now ? "now" : $0 } ?? "-" }

    /// The flow as facts, a line each.
    fileprivate var text: String {
        let facts =
            [
                ["path", path], ["type", type], ["status", status], ["pages", pages.map(\.pageText).joined(separator: ", ")],
                ["page number", pageNumber.map { "\($0)" } ?? "–"],
                ["failed", "\(failures)"], ["messages out", "\(outgoing)"], ["due", dueText], ["changed", changed],
            ] + (error.map { [["error", $0]] } ?? []) + (state.map { [["state", $0.pageText]] } ?? [])
        return TextLayout.table(facts.map { [$0[0] + ":", TextLayout.printable($0[1])] }, [.left, .left])
    }
}

/// The command `flow [ACTION] PATH…`.
struct FlowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flow",
        abstract: "Show durable flows, or say how they go on.",
        discussion: "`flow PATH` is `flow show PATH`. A flow has its path whether its coordinator lives or not.",
        subcommands: [
            Show.self, Act<ControlOperation.FlowRetry>.self, Skip.self, Cancel.self,
            Act<ControlOperation.FlowResume>.self,
        ],
        defaultSubcommand: Show.self
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
}

/// A command about flows that are named by their paths.
protocol FlowPathsCommand: PathsCommand where Answer == FlowList.Entry {
    associatedtype Operation: DescribedOperation where Operation.Answer == FlowList.Entry

    var parent: FlowCommand { get }
}

extension FlowPathsCommand {
    static var coversDescendants: Bool { false }

    /// The configuration of the operation's command; `flow-retry` is `flow retry`.
    static func configuration(named name: String? = nil) -> CommandConfiguration {
        CommandConfiguration(
            of: Operation.self,
            name: name ?? String(Operation.name.drop { $0 != "-" }.dropFirst()),
            discussion: Operation.details
        )
    }

    /// The command itself with the options between the two names too.
    var root: CoordinatorControl {
        var root = parent.root
        root.options = parent.options.merged(over: root.options)
        return root
    }

    func operation(on path: String) -> ControlOperation { Operation.at(path) }

    func text(of answer: FlowList.Entry) -> String { answer.line }
}

extension FlowCommand {
    /// The command `flow show PATH…`.
    struct Show: FlowPathsCommand {
        typealias Operation = ControlOperation.Flow

        static var configuration: CommandConfiguration { configuration(named: "show") }

        @ParentCommand var parent: FlowCommand
        @OptionGroup var options: CommonOptions
        @OptionGroup var selection: PathArguments
        @Flag(help: "Also the flow's state, which may be confidential.") var state = false

        func operation(on path: String) -> ControlOperation { state ? ControlOperation.FlowState.at(path) : Operation.at(path) }

        func text(of answer: FlowList.Entry) -> String { answer.text }
    }

    /// The command `flow skip PATH…`.
    struct Skip: FlowPathsCommand {
        typealias Operation = ControlOperation.FlowSkip

        static var configuration: CommandConfiguration { configuration() }

        @ParentCommand var parent: FlowCommand
        @OptionGroup var options: CommonOptions
        @OptionGroup var selection: PathArguments
        @Option(
            help: ArgumentHelp("The number of the page that is meant, as `flow` prints it. Default: whichever it is.", valueName: "number")
        ) var page: UInt64?
        @Option(help: ArgumentHelp("The state that the flow has after that. Default: as before.", valueName: "json")) var state: String?

        func validate() throws {
            if let state, (try? ControlJSON.parse(Array(state.utf8))) == nil { throw ValidationError("--state isn't JSON: '\(state)'") }
        }

        func operation(on path: String) -> ControlOperation {
            .flowSkip(path: path, page: page, state: state.flatMap { try? ControlJSON.parse(Array($0.utf8)) })
        }
    }

    /// A command that says something of flows and has no options of its own.
    struct Act<Operation: DescribedOperation>: FlowPathsCommand where Operation.Answer == FlowList.Entry {
        static var configuration: CommandConfiguration { configuration() }

        @ParentCommand var parent: FlowCommand
        @OptionGroup var options: CommonOptions
        @OptionGroup var selection: PathArguments
    }

    /// The command `flow cancel PATH…`.
    struct Cancel: FlowPathsCommand {
        typealias Operation = ControlOperation.FlowCancel

        static var configuration: CommandConfiguration { configuration() }

        @ParentCommand var parent: FlowCommand
        @OptionGroup var options: CommonOptions
        @OptionGroup var selection: PathArguments
        @Option(help: ArgumentHelp("The reason, which whoever waits for the flow gets.", valueName: "text")) var because: String?

        func operation(on path: String) -> ControlOperation { .flowCancel(path: path, reason: because) }
    }
}

extension FlowList.Entry {
    /// The flow in a line, ended by a newline.
    fileprivate var line: String {
        TextLayout.printable("\(path): \(status)" + (pages.last.map { ", at \($0.pageText)" } ?? "")) + "\n"
    }
}
