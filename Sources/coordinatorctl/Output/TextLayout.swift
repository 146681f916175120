import Control

/// The layout of terminal output: columns, and text that can't move the cursor.
enum TextLayout {
    enum Alignment {
        case left, right
    }

    /// Returns the rows under one another, with two spaces between columns and no spaces at a line's end.
    ///
    /// - Parameters:
    ///   - yielding: The column of names, of which long ones lose their middle where a line is longer than the terminal's: what stands after
    ///     them tells more; nil: none.
    ///   - width: The columns of the terminal, at which lines end; nil: lines are as long as they are.
    static func table(_ rows: [[String]], _ alignments: [Alignment], yielding: Int? = nil, width: Int? = Terminal.width) -> String {
        var rows = rows
        if let yielding, let width {
            let longest = rows.map { row in row.reduce(2 * (row.count - 1)) { $0 + $1.shownCount } }.max() ?? 0
            let limit = max(width * 2 / 5, 12)
            if longest > width { for row in rows.indices { rows[row][yielding] = rows[row][yielding].shortened(to: limit) } }
        }
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

extension String {
    /// The text with at most so many columns: its middle gives way, since the ends of names tell most.
    fileprivate func shortened(to width: Int) -> String {
        guard shownCount > width else { return self }
        var end = ""
        for character in reversed() {
            let longer = String(character) + end
            guard longer.shownCount <= min(9, width / 3) else { break }
            end = longer
        }
        return cut(to: width - end.shownCount) + end
    }
}
