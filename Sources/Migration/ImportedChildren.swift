/// The children that a file of another supervisor describes, while it's read.
struct ImportedChildren {
    /// One program.
    struct Child {
        var key: String
        /// The keys of the child beside `key` and `program`, in order.
        var settings: [(String, ImportedValue)] = []
        /// The keys of its program, in order.
        var program: [(String, ImportedValue)] = []
        /// The rank among the others: lower ones come first.
        var rank = 0
    }

    /// The programs that are children of the root.
    var children: [Child] = []
    /// The programs that are children of groups, by the group's key.
    var groups: [(key: String, rank: Int, children: [Child])] = []
    var notes: [ConfigurationImport.Note] = []

    mutating func note(_ file: String, _ line: Int, _ subject: String, _ message: String) {
        notes.append(ConfigurationImport.Note(file: file, line: line, subject: subject, message: message))
    }

    /// Reads a number with which something is computed: one beyond a million, or below minus a million, is that bound; `nil`: the text is none.
    static func number(_ text: String?) -> Int? { text.flatMap { Int($0) }.map { min(max($0, -1_000_000), 1_000_000) } }

    /// Makes a name a key: slashes and control characters can't be in a path's part.
    static func key(_ name: String) -> String {
        let kept = String(name.unicodeScalars.map { $0 == "/" || $0.properties.generalCategory == .control ? "-" : Character($0) })
        return kept.isEmpty || kept == "." || kept == ".." ? "program" : kept
    }

    /// Returns the daemon's file.
    func text(of format: ConfigurationImport.Format, _ path: String) -> String {
        var lines = ["# Imported from \(path.filter { !$0.isNewline }) (\(format.rawValue))."]
        guard !children.isEmpty || !groups.isEmpty else { return (lines + ["children: []"]).joined(separator: "\n") + "\n" }
        lines.append("children:")
        var parts = children.map { (rank: $0.rank, lines: Self.lines(of: $0, at: "  ")) }
        parts += groups.map { group in
            let inner = group.children.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            return (
                rank: group.rank,
                lines: ["  - key: \(ImportedValue.text(group.key).yaml)", "    children:"]
                    + inner.flatMap { Self.lines(of: $0.element, at: "      ") }
            )
        }
        lines += parts.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.flatMap(\.element.lines)
        return lines.joined(separator: "\n") + "\n"
    }

    private static func lines(of child: Child, at indentation: String) -> [String] {
        ["\(indentation)- key: \(ImportedValue.text(child.key).yaml)", "\(indentation)  program:"]
            + child.program.map { "\(indentation)    \($0): \($1.yaml)" } + child.settings.map { "\(indentation)  \($0): \($1.yaml)" }
    }
}

/// A value of the daemon's file that is to be written.
indirect enum ImportedValue {
    case text(String)
    /// A number, a duration, a size or a word of the daemon's own, written as it is.
    case word(String)
    case list([ImportedValue])
    case mapping([(String, ImportedValue)])

    static func words(_ words: [String]) -> ImportedValue { .list(words.map { .text($0) }) }

    static func variables(_ variables: [String: String]) -> ImportedValue {
        .mapping(variables.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })
    }

    /// The value in YAML's flow style.
    var yaml: String {
        switch self {
        case .word(let word): word
        case .text(let text): Self.isPlain(text) ? text : Self.quoted(text)
        case .list(let values): "[\(values.map(\.yaml).joined(separator: ", "))]"
        case .mapping(let members): "{ \(members.map { "\(ImportedValue.text($0).yaml): \($1.yaml)" }.joined(separator: ", ")) }"
        }
    }

    /// Whether a text means itself without quotes, in every version of YAML.
    private static func isPlain(_ text: String) -> Bool {
        let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        guard let first = text.utf8.first, !words.contains(text.lowercased()) else { return false }
        let isLetter = { (byte: UInt8) in (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F || byte == 0x2F }
        let isInner = { (byte: UInt8) in isLetter(byte) || (0x30...0x39).contains(byte) || byte == 0x2E || byte == 0x2D }
        return isLetter(first) && text.utf8.allSatisfy(isInner)
    }

    private static func quoted(_ text: String) -> String {
        let inner = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\t": "\\t"
            default:
                if scalar.properties.generalCategory == .control || scalar.value == 0x2028 || scalar.value == 0x2029
                    || scalar.value == 0xFEFF
                {
                    "\\u" + String(repeating: "0", count: 4 - String(scalar.value, radix: 16).count) + String(scalar.value, radix: 16)
                } else {
                    String(scalar)
                }
            }
        }
        return "\"\(inner.joined())\""
    }
}
