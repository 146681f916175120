import DaemonConfiguration

/// A file of sections with keys and values, as Python's ConfigParser reads it.
struct SectionedFile {
    struct Entry {
        var value: String
        let line: Int
        /// The directory of the file.
        var directory = "."
    }

    struct Section {
        /// The name without its kind: `web` of `[program:web]`.
        let kind: String
        let name: String
        let file: String
        let line: Int
        var entries: [String: Entry] = [:]
        /// The keys in the file's order.
        var keys: [String] = []

        var title: String { name.isEmpty ? "[\(kind)]" : "[\(kind):\(name)]" }
    }

    private(set) var sections: [Section] = []

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - inlineComments: the strings that begin a comment within a line, when white space is before them.
    ///   - keepsCase: whether keys keep the case in which they are written.
    ///   - separators: the characters that end a key.
    init(
        _ source: ImportSource,
        inlineComments: [String],
        keepsCase: Bool = false,
        separators: Set<Character> = ["=", ":"]
    ) throws(ConfigurationError) {
        var key: String?
        let directory = source.directory
        for (index, line) in source.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let text = Self.trimmed(Self.withoutComment(line, inlineComments))
            if text.isEmpty || text.hasPrefix("#") || text.hasPrefix(";") { continue }
            if line.first == " " || line.first == "\t", let key, !sections.isEmpty {
                sections[sections.count - 1].entries[key]?.value += "\n" + text
                continue
            }
            if text.hasPrefix("[") {
                guard let end = text.firstIndex(of: "]") else {
                    throw source.failure(index + 1, "a section's name isn't closed; expected `]`")
                }
                let name = text[text.index(after: text.startIndex)..<end]
                let parts = name.split(separator: ":", maxSplits: 1).map { Self.trimmed($0) }
                sections.append(
                    Section(kind: parts.first ?? "", name: parts.count == 2 ? parts[1] : "", file: source.path, line: index + 1)
                )
                key = nil
                continue
            }
            guard let separator = text.firstIndex(where: separators.contains), !sections.isEmpty else {
                throw source.failure(index + 1, "`\(text.prefix(40))` is neither a section nor `key = value`; expected one of them")
            }
            let given = Self.trimmed(text[..<separator])
            let name = keepsCase ? given : given.lowercased()
            let value = Self.trimmed(text[text.index(after: separator)...])
            let last = sections.count - 1
            if sections[last].entries[name] == nil { sections[last].keys.append(name) }
            sections[last].entries[name] = Entry(value: value, line: index + 1, directory: directory)
            key = name
        }
    }

    /// Joins sections of one name, as one that continues another file's: a later value counts.
    static func merged(_ sections: [Section]) -> [Section] {
        var result: [Section] = []
        for section in sections {
            guard let index = result.firstIndex(where: { $0.kind == section.kind && $0.name == section.name }) else {
                result.append(section)
                continue
            }
            for key in section.keys where result[index].entries[key] == nil { result[index].keys.append(key) }
            result[index].entries.merge(section.entries) { $1 }
        }
        return result
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        let isSpace = { (character: Character) in character.isWhitespace }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    /// Returns what is before a line's first comment, which begins the line or has white space before it.
    private static func withoutComment(_ line: Substring, _ comments: [String]) -> Substring {
        var canBegin = true
        for index in line.indices {
            if canBegin, comments.contains(where: { line[index...].hasPrefix($0) }) { return line[..<index] }
            canBegin = line[index].isWhitespace
        }
        return line
    }

    /// Reads `KEY="value",OTHER=value`, as Supervisor does, and nothing where it isn't that.
    static func variables(_ text: String) -> [String: String]? {
        var variables: [String: String] = [:]
        var rest = text[...]
        while true {
            rest = rest.drop { $0.isWhitespace || $0 == "," }
            guard !rest.isEmpty else { return variables }
            guard let equals = rest.firstIndex(of: "=") else { return nil }
            let name = trimmed(rest[..<equals])
            rest = rest[rest.index(after: equals)...].drop { $0 == " " }
            if let quote = rest.first, quote == "\"" || quote == "'" {
                rest = rest.dropFirst()
                guard let end = rest.firstIndex(of: quote) else { return nil }
                variables[name] = String(rest[..<end])
                rest = rest[rest.index(after: end)...]
            } else {
                let end = rest.firstIndex { $0 == "," || $0 == "\n" } ?? rest.endIndex
                variables[name] = trimmed(rest[..<end])
                rest = rest[end...]
            }
        }
    }
}
