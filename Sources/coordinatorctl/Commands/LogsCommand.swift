import ArgumentParser
import Control

/// The command `logs PATH…`.
struct LogsCommand: StreamCommand {
    static let configuration = CommandConfiguration(
        of: ControlOperation.Logs.self,
        discussion: """
            A path includes its descendants; the lines of several children are merged by their times. What a coordinator below a child \
            writes is in the log of that child. On a terminal, each child has a colour, and texts stand below one another; colours are off \
            when NO_COLOR is set.

            With --follow, the output goes on through restarts of the children, rotations of their files, and other daemons, until it is \
            interrupted.
            """
    )

    @ParentCommand var root: CoordinatorControl
    @OptionGroup var options: CommonOptions
    @Argument(help: "The paths in the tree, such as /shop; / for all children.", completion: .livePaths) var paths: [String]
    @Flag(name: .shortAndLong, help: "Go on with the lines that are written from now on.") var follow = false
    @Option(
        name: [.customShort("n"), .customLong("lines")],
        help: "The number of lines to begin with, from the end. Default: 10 with --follow, else all."
    )
    var lines: Int?
    @Option(help: "Begin at a time, such as 2026-11-22T20:41:00Z (UTC without an offset), or at a duration before now, such as 10m.")
    var since: String?
    @Option(help: "Show only lines that match a POSIX extended regular expression.") var grep: String?

    func operation() throws(ControlError) -> ControlOperation {
        if let lines, lines < 0 { throw ControlError(.invalidRequest, "-n is \(lines); expected 0 or more") }
        let since = try Since.milliseconds(since)
        let lines = lines ?? (follow && since == nil ? 10 : nil)
        return .logs(LogQuery(paths: paths, lines: lines, sinceMilliseconds: since, pattern: grep, follows: follow))
    }

    static func operation(_ operation: ControlOperation, after line: LogLine) -> ControlOperation {
        guard var query = (operation.content as? ControlOperation.Logs)?.query else { return operation }
        query.lines = nil
        query.sinceMilliseconds = Timestamp.microseconds(of: line.time).map { $0 / 1000 }
        return .logs(query)
    }

    static func operation(_ operation: ControlOperation, begunAt milliseconds: Int64, byAnother: Bool) -> ControlOperation {
        // With first lines, the last ones come again: they may not have come.
        guard var query = (operation.content as? ControlOperation.Logs)?.query, query.lines == 0 else { return operation }
        (query.lines, query.sinceMilliseconds) = (nil, milliseconds)
        return .logs(query)
    }

    static func time(of line: LogLine) -> String? { line.time }

    static func text(of line: LogLine, _ layout: inout StreamLayout) -> String { line.text(&layout) }

    static func origins(below paths: [String], in tree: TreeNode) -> [String] { tree.logOrigins(below: paths) }
}
