import ConcurrencySupport
import Processes

/// A reader of typed values from YAML nodes that collects their problems.
///
/// A reading function returns nil after it has reported a problem, so that its caller goes on and all problems of a file are found.
struct ConfigurationReader {
    let file: String
    /// Whether named executables and directories must exist.
    var checksFiles: Bool { files != nil }
    /// What looks at the named files; nil: nothing does.
    let files: FileLooks?
    private(set) var problems: [ConfigurationError.Problem] = []

    init(file: String, checksFiles: Bool = false) {
        self.file = file
        files = checksFiles ? FileLooks() : nil
    }

    /// The problems by position; those of the whole file come first.
    var problemsInFileOrder: [ConfigurationError.Problem] {
        // Sorted by offset too: Swift's sort doesn't promise to keep the order of equals.
        problems.enumerated()
            .sorted { ($0.element.line, $0.element.column, $0.offset) < ($1.element.line, $1.element.column, $1.offset) }
            .map(\.element)
    }

    mutating func report(at mark: Mark, _ message: String) {
        problems.append(mark.problem(message, file: file))
    }

    /// Reads a mapping whose keys are all in `keys`; `name` is its name in messages.
    mutating func fields(_ node: YAMLNode, _ name: String, keys: [String]) -> Fields? {
        guard case .mapping(let pairs) = node.content else {
            report(at: node.mark, "\(name) is \(node.summary); expected a mapping with \(Self.list(keys))")
            return nil
        }
        var fields = Fields(mark: node.mark, name: name)
        for (keyNode, value) in pairs {
            guard let key = keyNode.text else {
                report(at: keyNode.mark, "a key of \(name) is \(keyNode.summary); expected a name")
                continue
            }
            if keys.contains(key) {
                fields.values[key] = value
            } else if key == "<<" {
                // `checkTree` has reported it, and the keys that it would have merged are unknown.
                fields.excused.formUnion(keys)
            } else {
                report(at: keyNode.mark, "unknown key `\(key)` in \(name); \(Spelling.hint(for: key, among: keys))")
                if let suggestion = Spelling.suggestion(for: key, among: keys) { fields.excused.insert(suggestion) }
            }
        }
        return fields
    }

    /// Returns the first keys of a mapping, for a message.
    private static func list(_ keys: [String]) -> String {
        keys.prefix(6).map { "`\($0)`" }.joined(separator: ", ") + (keys.count > 6 ? " or others" : "")
    }

    /// Returns the node of a required key.
    mutating func required(_ key: String, of fields: Fields, expected: String) -> YAMLNode? {
        if let node = fields[key] { return node }
        guard !fields.excused.contains(key) else { return nil }
        report(at: fields.mark, "\(fields.name) has no `\(key)`; expected \(expected)")
        return nil
    }

    mutating func list(_ node: YAMLNode, _ name: String, expected: String) -> [YAMLNode]? {
        if case .sequence(let nodes) = node.content { return nodes }
        report(at: node.mark, "\(name) is \(node.summary); expected \(expected)")
        return nil
    }

    /// Reads a text that isn't empty.
    ///
    /// A plain `5`, `true` or `null` isn't a text; in quotes it is.
    mutating func text(_ node: YAMLNode, _ name: String, expected: String) -> String? {
        guard let text = node.text, node.plain == nil || node.plain == .text else {
            let hint = node.text.map { $0.isEmpty ? "" : " (write \"\($0)\" if it is meant as text)" } ?? ""
            report(at: node.mark, "\(name) is \(node.summary); expected \(expected)\(hint)")
            return nil
        }
        guard !text.isEmpty else {
            report(at: node.mark, "\(name) is empty; expected \(expected)")
            return nil
        }
        return text
    }

    /// Reads a scalar as it is written, for arguments and variables: `PORT: 8080` is the text 8080.
    mutating func verbatim(_ node: YAMLNode, _ name: String) -> String? {
        guard let text = node.text, node.plain != .null else {
            let hint = node.plain == .null ? " (write \"\" for an empty one)" : ""
            report(at: node.mark, "\(name) is \(node.summary); expected a text\(hint)")
            return nil
        }
        return text
    }

    mutating func duration(_ node: YAMLNode, _ name: String, or alternatives: String = "") -> Duration? {
        let expected = "a whole number and a unit, such as 250ms, 5s, 2m or 1h\(alternatives)"
        if let duration = node.text.flatMap({ Duration(configurationText: $0) }) { return duration }
        switch node.plain {
        case .integer(let count)? where count >= 0:
            report(
                at: node.mark,
                "\(name) is \(count) without a unit; expected \(count)s if seconds are meant, or another of the units ms, s, m and h"
            )
        case .null?:
            report(at: node.mark, "\(name) is empty; expected \(expected)")
        default:
            report(at: node.mark, "\(name) is \(node.summary), which isn't a duration; expected \(expected)")
        }
        return nil
    }

    mutating func wholeNumber(_ node: YAMLNode, _ name: String, in range: ClosedRange<Int>, or alternatives: String = "") -> Int? {
        if case .integer(let value)? = node.plain, let number = Int(exactly: value), range.contains(number) { return number }
        report(
            at: node.mark,
            "\(name) is \(node.summary); expected a whole number from \(range.lowerBound) to \(range.upperBound)\(alternatives)"
        )
        return nil
    }

    mutating func number(_ node: YAMLNode, _ name: String, in range: ClosedRange<Double>) -> Double? {
        let number: Double? =
            switch node.plain {
            case .integer(let value)?: Double(value)
            case .number(let value)?: value
            default: nil
            }
        if let number, range.contains(number) { return number }
        report(at: node.mark, "\(name) is \(node.summary); expected a number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(_ node: YAMLNode, _ name: String) -> Choice?
    where Choice.RawValue == String {
        if let choice = node.text.flatMap({ Choice(rawValue: $0) }) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let hint = Spelling.hint(for: node.text ?? "", among: names)
        report(at: node.mark, "\(name) is \(node.summary); \(hint)")
        return nil
    }
}

/// The known keys of one mapping.
struct Fields {
    let mark: Mark
    let name: String
    fileprivate(set) var values: [String: YAMLNode] = [:]
    /// The keys whose absence isn't reported, because a misspelling of them was.
    fileprivate(set) var excused: Set<String> = []

    fileprivate init(mark: Mark, name: String) {
        self.mark = mark
        self.name = name
    }

    subscript(key: String) -> YAMLNode? { values[key] }
}
