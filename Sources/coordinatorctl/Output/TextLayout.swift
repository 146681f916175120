/// The few things that terminal output needs: columns, spans of time, and text that can't move the cursor.
public enum TextLayout {
    enum Alignment {
        case left, right
    }

    /// Rows under one another, two spaces between columns, no spaces at a line's end.
    static func table(_ rows: [[String]], _ alignments: [Alignment]) -> String {
        let widths = alignments.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                line += (column == 0 ? "" : "  ") + (alignments[column] == .left ? cell + padding : padding + cell)
            }
            return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
        }.joined()
    }

    /// The two largest units that say something: `3d4h`, `5m12s`, `42s`, and milliseconds below a second.
    static func time(milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        guard seconds > 0 else { return "\(max(0, milliseconds))ms" }
        let parts = [(seconds / 86400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")]
        let shown = parts.drop { $0.0 == 0 }.prefix(2)
        return shown.filter { $0.0 != 0 }.map { "\($0.0)\($0.1)" }.joined()
    }

    static func time(_ duration: Duration) -> String {
        time(milliseconds: duration.wholeMilliseconds)
    }

    /// Names come from processes that the operator doesn't control; a terminal must not obey them.
    static func printable(_ text: String) -> String {
        printable(text) { $0.escaped(asASCII: true) }
    }

    /// The same for texts of several lines.
    public static func printableLines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { printable(String($0)) }.joined(separator: "\n")
    }

    static func printable(_ text: String, escape: (Unicode.Scalar) -> String) -> String {
        let isHarmless = text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        if isHarmless { return text }
        return text.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: escape(scalar)
            default: String(scalar)
            }
        }.joined()
    }
}
