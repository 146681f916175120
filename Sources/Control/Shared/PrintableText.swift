/// Text that can't move a terminal's cursor: names come from processes that the operator doesn't control.
public enum PrintableText {
    /// Returns the text with an escape in place of each character that a terminal would obey.
    public static func line(_ text: String) -> String {
        line(text) { $0.escaped(asASCII: true) }
    }

    /// Returns the text with each line made printable.
    public static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(separator: "\n")
    }

    static func line(_ text: String, escape: (Unicode.Scalar) -> String) -> String {
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
