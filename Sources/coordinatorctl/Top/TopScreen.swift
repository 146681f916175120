import Control
import WireProtocol

/// The screen of `top` as lines of text, for any size of a terminal.
struct TopScreen {
    /// What the user has chosen.
    struct View: Equatable {
        var order = TopOrder.tree
        var isReversed = false
        /// The path under the cursor; the cursor stays on it when rows move.
        var selected: String?
        /// The first row that is shown.
        var top = 0
        var showsHelp = false
        /// The text that paths and types must contain.
        var filter = ""
        /// Whether the filter is being typed.
        var isTyping = false
    }

    var rows: [TopRow]
    var view: View
    var width: Int
    var height: Int
    var colours: Colours
    var time: String
    /// Why the figures are old; nil when they are new.
    var problem: String?

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
        Column(title: "STATE", width: 20, isLeft: true) { $0.stateText },
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
        let first = problem.map { colours.text(TextLayout.printable($0), in: "failed") } ?? title
        return [first + String(repeating: " ", count: max(1, width - first.shownCount - time.count)) + time, states, totals]
    }

    private static func urgency(_ state: String) -> Int { ShownState(rawValue: state)?.urgency ?? 0 }

    /// The number of rows for which there is room.
    var capacity: Int { max(0, height - 5) }

    /// Returns the lines, as many as the terminal has, none wider than it.
    func lines() -> [String] {
        if view.showsHelp { return Self.help.prefix(height).map { Self.cut($0, to: width) } }
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
        while lines.count < height - 1 { lines.append("") }
        lines.append(footer)
        // Of a small terminal, the rows of trouble matter most, and the last line least.
        return lines.prefix(height).map { Self.cut($0, to: width) }
    }

    private var footer: String {
        if view.isTyping { return "/\(TextLayout.printable(view.filter))▏ ⏎ done  Esc clear" }
        return "↑↓ row  s sort  r reverse  / filter  ? help  q quit"
    }

    private static let help = [
        "coordinatorctl top", "",
        "↑ ↓ j k    move the cursor, which stays on its path", "PgUp PgDn  a screen up or down", "Home End   the first or the last row",
        "s          the next order: " + TopOrder.allCases.map(\.rawValue).joined(separator: ", "),
        "r          the order reversed", "c m w t    by processor, memory, waiting messages, tree",
        "/          show only what contains the typed words",
        "Esc        show everything again", "q          quit", "",
        "CPU% and MEM are those of a process, in the line of its topmost coordinator.", "", "Any key goes back.",
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

    /// Returns the beginning of a line, with all of its escapes.
    private static func cut(_ line: String, to width: Int) -> String {
        guard line.shownCount > width else { return line }
        var (result, count, isInEscape) = ("", 0, false)
        for character in line {
            if character == "\u{1B}" { isInEscape = true }
            if isInEscape {
                result.append(character)
                if character == "m" { isInEscape = false }
            } else {
                count += character.columns
                if count <= width { result.append(character) }
            }
        }
        return result
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
