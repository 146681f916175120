import ConcurrencySupport
import Processes
import Supervision

/// A reader of typed values from YAML nodes that collects their problems.
///
/// A reading function returns nil after it has reported a problem, so that its caller goes on and all problems of a file are found.
struct ConfigurationReader {
    let file: String
    /// Whether named executables and directories must exist.
    var checksFiles: Bool { files != nil }
    /// What looks at the named files; nil: nothing does.
    let files: FileLooks?
    /// The account as whose included files are opened; nil: this process's.
    let account: Account?
    private(set) var problems: [ConfigurationError.Problem] = []
    /// The problems as a set: what is wrong in `defaults` would be reported for each child that has them.
    private var known: Set<ConfigurationError.Problem> = []
    /// The files that are read, each of them included by the one before.
    var including: [String] = []
    /// The number of files that were included.
    var fileCount = 0
    /// The number of values that files and defaults may still add.
    var room = 0
    var scope = Scope()
    /// The mappings around the one that is read, from the outermost one on.
    var around: [(name: String, keys: [KeyDescription])] = []

    /// What the mappings around the one that is read mean for its defaults and bounds.
    struct Scope {
        /// The supervision of the children, which has the defaults of their limits.
        var supervision = SupervisionPolicy()
        /// The logging of the file, which has the defaults of the children's.
        var logging = LoggingConfiguration()
        /// The length of the supervisor's path, in bytes.
        var pathLength = 0
        /// The supervisor's path; empty for the root.
        var path = ""
        /// Whether only a part of a mapping is read, which others complete: nothing is missing in it.
        var isPartial = false
        /// The number of instances of the group that the mapping is in; nil: it's in none that has any.
        var instances: Int?
    }

    /// The paths that children name, which are looked up when the whole file was read.
    var pathsNamed: [NamedPath] = []

    init(file: String, checksFiles: Bool = false, as account: Account? = nil) {
        (self.file, self.account) = (file, account)
        files = checksFiles ? FileLooks() : nil
    }

    /// The problems by position; those of the whole file come first, those of included files after all others.
    var problemsInFileOrder: [ConfigurationError.Problem] {
        // Sorted by offset too: Swift's sort doesn't promise to keep the order of equals.
        problems.enumerated().map { ($0.element.file == file ? "" : $0.element.file, $0.element, $0.offset) }
            .sorted { ($0.0, $0.1.line, $0.1.column, $0.2) < ($1.0, $1.1.line, $1.1.column, $1.2) }
            .map(\.1)
    }

    mutating func report(at mark: Mark, _ message: String) { report(mark.problem(message, file: file)) }

    mutating func report(_ problem: ConfigurationError.Problem) {
        if known.insert(problem).inserted { problems.append(problem) }
    }

    /// Reads a mapping whose keys are all in `keys`; `name` is its name in messages.
    mutating func fields(_ node: YAMLNode, _ name: String, _ keys: [KeyDescription]) -> Fields? {
        guard case .mapping(let pairs) = node.content else {
            let names = keys.prefix(6).map { "`\($0.name)`" }.joined(separator: ", ") + (keys.count > 6 ? " or others" : "")
            report(at: node.mark, "\(name) is \(node.summary); expected a mapping with \(names)")
            return nil
        }
        var fields = Fields(mark: node.mark, name: name)
        for (keyNode, value) in pairs {
            guard let key = keyNode.text else {
                report(at: keyNode.mark, "a key of \(name) is \(keyNode.summary); expected a name")
                continue
            }
            if keys.contains(where: { $0.name == key }) {
                fields.values[key] = value
            } else if key == "<<" {
                // `checkTree` has reported it, and the keys that it would have merged are unknown.
                fields.excused.formUnion(keys.map(\.name))
            } else {
                let (problem, meant) = unknown(key, in: name, keys, beside: pairs.compactMap(\.key.text))
                report(at: keyNode.mark, problem)
                if let meant { fields.excused.insert(meant) }
            }
        }
        return fields
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

    mutating func truth(_ node: YAMLNode, _ name: String) -> Bool? {
        if case .bool(let value)? = node.plain { return value }
        report(at: node.mark, "\(name) is \(node.summary); expected true or false")
        return nil
    }

    /// Reads a number of bytes: `65536`, or a number with a unit, `64KiB`, `512MiB`, `2GiB`.
    mutating func size(_ node: YAMLNode, _ name: String, or alternatives: String = "") -> Int? {
        let expected = "a number of bytes, or a whole number and a unit, such as 64KiB, 512MiB or 2GiB\(alternatives)"
        if case .integer(let count)? = node.plain, count >= 0 { return Int(count) }
        let text = node.text ?? ""
        let digits = text.prefix { ("0"..."9").contains($0) }
        let shift = ["KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40][String(text.dropFirst(digits.count))]
        if let shift, let count = Int(digits), count <= Int.max >> shift { return count << shift }
        report(at: node.mark, "\(name) is \(node.summary); expected \(expected)")
        return nil
    }

    mutating func command(_ node: YAMLNode, _ name: String, expected: String) -> [String]? {
        guard let nodes = list(node, name, expected: expected) else { return nil }
        guard let program = nodes.first else {
            report(at: node.mark, "\(name) is an empty list; expected \(expected)")
            return nil
        }
        let first = path(program, "the program of \(name)", expected: "its name or path")
        let arguments = nodes.dropFirst().map { verbatim($0, "an argument of \(name)") }
        guard let first, !arguments.contains(nil) else { return nil }
        return [first] + arguments.compactMap(\.self)
    }

    /// Reports a word that is called otherwise now, and returns whether the value is one.
    mutating func isFormer(_ node: YAMLNode, _ name: String, _ former: [String: String]) -> Bool {
        guard let word = node.text, let present = former[word] else { return false }
        report(at: node.mark, "\(name) is `\(word)`, which is now called `\(present)`")
        return true
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
