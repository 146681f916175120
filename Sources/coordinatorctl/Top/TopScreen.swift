import Control
import WireProtocol

/// The screen of `top` as lines of text, for any size of a terminal.
struct TopScreen {
    /// What the user has chosen.
    struct View: Equatable {
        /// What the screen shows.
        enum Mode: Equatable {
            /// The rows.
            case rows
            /// The rows, while the words are typed that they must contain.
            case filter
            case help
            /// The last lines of a path's log; `back` of them are below the screen, and while there are any, none are added.
            case log(path: String, back: Int)
        }

        var mode = Mode.rows
        /// The action that waits for the user's yes.
        var question: TopRequest?
        /// The action that the user wants, until it's begun.
        var wish: TopRequest?
        var order = TopOrder.tree
        var isReversed = false
        /// The path under the cursor; the cursor stays on it when rows move.
        var selected: String?
        /// The first row that is shown.
        var top = 0
        /// The text that paths and types must contain.
        var filter = ""
    }

    /// The last lines of a path's log.
    struct Log: Equatable {
        var path: String
        var lines: [LogLine] = []
        /// Why there are no lines, or no new ones.
        var problem: String?
    }

    var rows: [TopRow]
    var view: View
    var width: Int
    var height: Int
    var colours: Colours
    var time: String
    /// Why the figures are old; nil when they are new.
    var problem: String?
    /// What is said of actions.
    var notice: TopNotice?
    /// The log, when the view is that of one.
    var log: Log?

    /// The marks of states, which are told apart without colours.
    private static func mark(_ state: String) -> String {
        switch ShownState(rawValue: state) {
        case .active: "●"
        case .starting: "◐"
        case .paused: "‖"
        case .stopping: "◌"
        case .restarting, .failing: "↻"
        case .unhealthy: "!"
        case .failed: "✗"
        case .unresponsive: "?"
        case .inactive, .waiting, nil: "○"
        }
    }

    private struct Column: Sendable {
        var title: String
        var width: Int
        var isLeft = false
        var text: @Sendable (TopRow) -> String
    }

    /// The columns in the order in which they stay when the terminal is narrow.
    private static let columns: [Column] = [
        Column(title: "STATE", width: 20, isLeft: true) { TextLayout.printable($0.stateText) },
        Column(title: "CPU%", width: 5) { $0.cpuPercent.map { decimal($0) } ?? "–" },
        Column(title: "MEM", width: 6) { $0.memoryBytes.map { size($0) } ?? "–" },
        Column(title: "WAIT", width: 5) { $0.waiting.map { "\($0)" } ?? "–" },
        Column(title: "RST", width: 4) { "\($0.restarts)" },
        Column(title: "MSG/S", width: 6) { $0.handledPerSecond.map { decimal($0) } ?? "–" },
        Column(title: "PID", width: 7) { $0.pid.map { "\($0)" } ?? "–" },
        Column(title: "OLDEST", width: 7) { $0.oldestWaitingMilliseconds.map { Duration.milliseconds($0).briefText } ?? "–" },
        Column(title: "UPTIME", width: 7) { $0.uptimeMilliseconds > 0 ? Duration.milliseconds($0.uptimeMilliseconds).briefText : "–" },
        Column(title: "RUN", width: 4) { $0.running.map { "\($0)" } ?? "–" },
        Column(title: "LIFE", width: 5) { "\($0.incarnation)" },
        Column(title: "TYPE", width: 24, isLeft: true) { TextLayout.printable($0.type) },
    ]

    /// The rows that the filter leaves, in the chosen order.
    var shownRows: [TopRow] {
        let words = view.filter.lowercased().split(separator: " ")
        let kept = rows.filter { row in words.allSatisfy { "\(row.path) \(row.type) \(row.state)".lowercased().contains($0) } }
        return view.order.sorted(kept, reversed: view.isReversed)
    }

    private var headLines: [String] {
        let report = TopReport(rows)
        let title =
            "coordinatord  up \(Duration.milliseconds(report.uptimeMilliseconds).briefText)  "
            + "\(rows.count) coordinators and programs in \(report.processes) processes"
        let states = report.states.sorted { Self.urgency($0.key) > Self.urgency($1.key) }
            .map { colours.text("\(Self.mark($0.key)) \($0.value) \($0.key)", in: $0.key) }.joined(separator: "  ")
        let waiting = rows.reduce(0) { $0 + ($1.waiting ?? 0) }
        let totals =
            "\(Self.decimal(report.handledPerSecond)) msg/s  waiting \(waiting)  cpu \(Self.decimal(report.cpuPercent)) %  "
            + "mem \(Self.size(report.memoryBytes))  sort \(view.order.rawValue)\(view.isReversed ? ", reversed" : "")"
            + (view.filter.isEmpty ? "" : "  filter \(TextLayout.printable(view.filter))")
        return [headLine(title), states, totals]
    }

    /// The first line: what is shown, or why it's old, and the time.
    private func headLine(_ title: String) -> String {
        let first = (problem.map { colours.text(TextLayout.printable($0), in: "failed") } ?? title).cut(to: max(0, width - time.count - 1))
        return first + String(repeating: " ", count: max(1, width - first.shownCount - time.count)) + time
    }

    private static func urgency(_ state: String) -> Int { ShownState(rawValue: state)?.urgency ?? 0 }

    /// The number of rows, or of lines of a log, for which there is room.
    var capacity: Int {
        if case .log = view.mode { return max(0, height - 2) }
        return max(0, height - 5)
    }

    /// Returns the view with what is shown of it within the screen.
    var settledView: View {
        var view = view
        view.keepCursorVisible(rows: shownRows.map(\.path), capacity: capacity)
        if let log { view.keepLogVisible(lines: log.lines.count, capacity: capacity) }
        return view
    }

    /// Returns the lines, as many as the terminal has, none wider than it.
    func lines() -> [String] {
        var lines =
            switch view.mode {
            case .help: Self.help
            case .log(let path, let back): logLines(path, back)
            case .rows, .filter: rowLines
            }
        while lines.count < height - 1 { lines.append("") }
        lines.append(footer)
        // Of a small terminal, the rows of trouble matter most, and the last line least; a question or an answer matters more.
        if view.question != nil || notice != nil, lines.count > height { lines = Array(lines.prefix(max(0, height - 1))) + [footer] }
        return lines.prefix(height).map { $0.cut(to: width) }
    }

    private func logLines(_ path: String, _ back: Int) -> [String] {
        let row = rows.first { $0.path == path }
        let state = row.map { colours.text(TextLayout.printable($0.stateText), in: $0.state) } ?? "isn't there any more"
        let held = back > 0 ? "  held, \(back) lines below" : ""
        let title = headLine("\(TextLayout.printable(path))  \(state)\(held)")
        let room = max(0, capacity - (log?.problem == nil ? 0 : 1))
        let shown = (log?.lines ?? []).dropLast(back).suffix(room).map { $0.brief(below: path) }
        let empty = shown.isEmpty && log?.problem == nil ? ["nothing is written yet"] : []
        return [title] + (log?.problem.map { [colours.text(TextLayout.printable($0), in: "failed")] } ?? []) + shown + empty
    }

    private var rowLines: [String] {
        var lines = headLines
        let columns = fittingColumns
        let nameWidth = max(8, width - 2 - columns.reduce(0) { $0 + $1.width + 1 })
        lines.append(line("  ", Self.pad("NAME", to: nameWidth), columns.map { Self.pad($0.title, to: $0.width, isLeft: $0.isLeft) }))
        for row in shownRows.dropFirst(view.top).prefix(capacity) {
            let mark = colours.text(Self.mark(row.state), in: row.state)
            let indentation = view.order == .tree && view.filter.isEmpty ? String(repeating: "  ", count: row.depth) : ""
            let name = indentation + TextLayout.printable(indentation.isEmpty && row.depth > 0 ? row.path : row.key)
            let cells = columns.map { column in
                let cell = Self.pad(column.text(row), to: column.width, isLeft: column.isLeft)
                return column.title == "STATE" ? colours.text(cell, in: row.state) : cell
            }
            let selection = row.path == view.selected ? ">" : " "
            lines.append(line(selection + mark, Self.pad(" " + name, to: nameWidth), cells))
        }
        return lines
    }

    private var footer: String {
        if let question = view.question {
            let below = rows.count { $0.path != question.path && $0.path.hasPrefix(question.path == "/" ? "/" : question.path + "/") }
            let rest = below == 0 ? "" : " and the \(below) below it"
            let text = "\(question.action.name) \(TextLayout.printable(question.path))\(rest)? y: yes, any other key: no"
            return colours.text(text, in: "paused")
        }
        if let notice {
            let text = TextLayout.printable(notice.text)
            return notice.isFailure ? colours.text(text, in: "failed") : text
        }
        let actions = TopAction.allCases.map { "\($0.key) \($0.name)" }.joined(separator: "  ")
        switch view.mode {
        case .filter: return "/\(TextLayout.printable(view.filter))▏ ⏎ done  Esc clear"
        case .help: return "any key goes back  q quit"
        case .log: return "q back  ↑↓ PgUp PgDn scroll  End follow  \(actions)"
        // The end of the line is the first to be cut off.
        case .rows: return "? help  q quit  ↑↓ row  l log  \(actions)  s sort  / filter"
        }
    }

    private static let help = [
        "coordinatorctl top", "",
        "↑ ↓ j k    move the cursor, which stays on its path", "PgUp PgDn  a screen up or down", "Home End   the first or the last row",
        "l Enter    the log of the row; the same keys move in it, and q, l, Enter and Esc leave it",
        TopAction.allCases.map { "\($0.key) \($0.name)" }.joined(separator: ", ") + ": the row; what ends processes is asked before",
        "s          the next order: " + TopOrder.allCases.map(\.rawValue).joined(separator: ", "),
        "r          the order reversed", "c m w t    by processor, memory, waiting messages, tree",
        "/          show only what contains the typed words",
        "Esc        show everything again", "q          quit", "",
        "CPU% and MEM are those of a process, in the line of its topmost coordinator.",
    ]

    /// Returns the rows as a table of all columns, for files and pipes.
    static func table(_ rows: [TopRow]) -> String {
        let cells = rows.map { row in [TextLayout.printable(row.path)] + columns.map { $0.text(row) } }
        return TextLayout.table([["PATH"] + columns.map(\.title)] + cells, [.left] + columns.map { $0.isLeft ? .left : .right })
    }

    private var fittingColumns: [Column] {
        // The mark and a name of some length come first.
        var room = width - 2 - 20
        return Self.columns.prefix { column in
            room -= column.width + 1
            return room >= 0
        }
    }

    private func line(_ mark: String, _ name: String, _ cells: [String]) -> String { ([mark + name] + cells).joined(separator: " ") }

    /// Returns the text in exactly this width.
    private static func pad(_ text: String, to width: Int, isLeft: Bool = true) -> String {
        let cut = text.cut(to: width)
        let padding = String(repeating: " ", count: max(0, width - cut.shownCount))
        return isLeft ? cut + padding : padding + cut
    }

    private static func decimal(_ number: Double) -> String {
        switch number {
        case ..<9.95: "\(Int((number * 10).rounded()) / 10).\(Int((number * 10).rounded()) % 10)"
        case ..<9999.5: "\(Int(number.rounded()))"
        case ..<999_500: "\(Int((number / 1000).rounded()))k"
        default: "\(Int((number / 1_000_000).rounded()))M"
        }
    }

    private static func size(_ bytes: UInt64) -> String {
        let mebibytes = Double(bytes) / 1_048_576
        if mebibytes >= 1024 { return decimal(mebibytes / 1024) + "G" }
        return mebibytes >= 1 ? decimal(mebibytes) + "M" : "\(bytes / 1024)K"
    }
}

extension LogLine {
    /// The line with its time of day, and its child where that isn't the path that is looked at.
    fileprivate func brief(below path: String) -> String {
        let origin = self.path == path ? "" : TextLayout.printable(self.path) + ": "
        let text = gap.map { "--- output is missing here: \($0.reason) ---" } ?? line.replacing("\t", with: "    ")
        // The time is one of UTC: 2026-11-22T20:41:00.123456Z.
        return "\(TextLayout.printable(String(time.dropFirst(11).prefix(8))))Z  \(origin)\(TextLayout.printable(text))"
    }
}
