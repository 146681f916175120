import Control

/// The layout of terminal output: columns, and text that can't move the cursor.
enum TextLayout {
    enum Alignment {
        case left, right
    }

    /// Returns the rows under one another, with two spaces between columns and no spaces at a line's end.
    ///
    /// - Parameter width: The columns of the terminal, at which lines end; nil: lines are as long as they are.
    static func table(_ rows: [[String]], _ alignments: [Alignment], width: Int? = Terminal.width) -> String {
        let widths = alignments.indices.map { column in rows.map { $0[column].shownCount }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - cell.shownCount)
                line += (column == 0 ? "" : "  ") + (alignments[column] == .left ? cell + padding : padding + cell)
            }
            // By bytes: characters of a text that is walked backwards take longer than all the rest.
            let end = line.utf8.lastIndex { $0 != UInt8(ascii: " ") }.map { line.utf8.index(after: $0) } ?? line.startIndex
            let whole = String(line[..<end])
            return (width.map { whole.cut(to: $0) } ?? whole) + "\n"
        }.joined()
    }

    /// Returns the text with an escape in place of each character that a terminal would obey.
    ///
    /// Names come from processes that the operator doesn't control.
    static func printable(_ text: String) -> String { PrintableText.line(text) }

    /// Returns the text with each line made printable.
    static func printableLines(_ text: String) -> String { PrintableText.lines(text) }
}
