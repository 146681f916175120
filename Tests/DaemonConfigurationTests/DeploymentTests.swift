import DaemonConfiguration
import FoundationEssentials
import Supervision
import TestSupport
import Testing
import WireProtocol

@Suite("The table of keys in the article about deployment")
struct DeploymentTests {
    /// The paths of the keys, and the defaults that the article states.
    private let defaults: [String: String]
    /// The defaults that are values of the file, such as `10s`, by the paths of their keys.
    private let literals: [String: String]

    init() throws {
        let text = try #require(Files.text(of: "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc/Deployment.md"))
        let table = try #require(text.split(separator: "| Key | Default |\n|---|---|\n").last)
        let rows = table.split(separator: "\n\n")[0].split(separator: "\n")
        let cells = rows.map { row in row.split(separator: "|").map { $0.filter { $0 != "`" }.dropFirst().dropLast() } }
        defaults = Dictionary(cells.map { (String($0[0]), String($0[1])) }) { first, _ in first }
        #expect(defaults.count == rows.count)
        literals = Dictionary(
            rows.compactMap { $0.wholeMatch(of: /\| `([^`]+)` \| `([^`]+)` \|/) }.map { (String($0.1), String($0.2)) }
        ) { first, _ in first }
    }

    @Test("Every key that the reader knows is in it, at its place")
    func keys() throws {
        let known = try ReaderSource.keyLists().reduce(into: Set<String>()) { $0.formUnion($1) }
        #expect(Set(defaults.keys.compactMap { $0.split(separator: ".").last.map(String.init) }) == known)
        for path in defaults.keys {
            // The value is one that no key accepts: the problem must be the value, not the key.
            let error = #expect(throws: ConfigurationError.self) {
                try DaemonConfiguration.parse(text: Self.file(with: path), file: "keys")
            }
            #expect(error?.description.contains("unknown key") == false, "\(path): \(error?.description ?? "")")
        }
    }

    @Test("Its defaults are those of a file that leaves them out")
    func values() throws {
        let configuration = try DaemonConfiguration.parse(
            text: "children: [{ key: a, program: { command: [sh] } }, { key: b, worker: { executable: /bin/sh, coordinator: B } }]",
            file: "defaults"
        )
        let (policy, backoff) = (configuration.supervision, configuration.supervision.backoff)
        #expect(defaults["supervision.strategy"] == "\(policy.strategy)")
        #expect(defaults["supervision.intensity"] == "\(policy.intensity)")
        #expect(defaults["supervision.period"] == Self.text(policy.period))
        #expect(defaults["supervision.backoff.minimum"] == Self.text(backoff.minimum))
        #expect(defaults["supervision.backoff.maximum"] == Self.text(backoff.maximum))
        #expect(defaults["supervision.backoff.reset_after"] == Self.text(backoff.resetAfter))
        #expect(defaults["orphan_grace"] == Self.text(configuration.orphanGrace))
        #expect(configuration.children.allSatisfy { "\($0.restart)" == defaults["children.restart"] })
        #expect(configuration.children.map(\.shutdown) == [.timeout(.seconds(5)), .infinity])
        #expect(defaults["children.shutdown"] == "infinity for a worker, 5s for a program")
    }

    @Test("Each default that is a value changes nothing when it's written out, and the reference states the same")
    func writtenOut() throws {
        let unchanged = try Self.parse(Self.base)
        let reference = try Self.reference()
        for (path, literal) in literals {
            let keys = path.split(separator: ".").map(String.init)
            // The time-out's default is the runtime's: in the configuration it's the absence of one.
            if path != "children.program.start_timeout" {
                #expect(try Self.parse(Self.base.setting(Self.value(literal), at: keys)) == unchanged, "\(path): \(literal)")
            }
            // Another value is another configuration, or out of the range: the key is read.
            if let other = Self.other(than: literal) {
                let changed = try? Self.parse(Self.base.setting(other, at: keys))
                #expect(changed != unchanged, "\(path): \(other)")
            }
            let siblings = defaults.keys.map { $0.split(separator: ".").map(String.init) }.filter { $0.dropLast() == keys.dropLast() }
                .compactMap(\.last)
            let table = reference.filter { Set(siblings).isSubset(of: $0.keys) }.min { $0.count < $1.count }
            #expect(table?[keys[keys.count - 1]] == "`\(literal)`", "\(path)")
        }
        #expect(literals.count { Self.other(than: $0.value) != nil } >= 20)
        // What the reference states in a table of its own has a row here.
        for (key, text) in reference.flatMap(\.self) where text.wholeMatch(of: /`[0-9][^`]*`/) != nil {
            let stated = defaults.filter { $0.key.split(separator: ".").last.map(String.init) == key }.values
            #expect(stated.contains { "`\($0.prefix { $0 != "," })`" == text }, "\(key)")
        }
    }

    /// The tables of the reference: the texts of their last columns by the keys.
    private static func reference() throws -> [[String: String]] {
        let file = "\(Files.packageRoot)/Sources/DaemonConfiguration/DaemonConfiguration.docc/Configuration.md"
        let text = try #require(Files.text(of: file))
        return text.split(separator: "| Key | Value | Default |\n| --- | --- | --- |\n").dropFirst().map { table in
            let rows = table.split(separator: "\n\n")[0].matches(of: /(?m)^\| `([^`]+)` \|.*\| ?([^|]*?) ?\|$/)
            return Dictionary(rows.map { (String($0.1), String($0.2)) }) { first, _ in first }
        }
    }

    /// A file in which there is each mapping, with what it needs.
    private static let base: JSONValue = [
        "children": [
            [
                "key": "p",
                "program": [
                    "command": ["cat"], "ready": ["command": ["true"]], "health": ["tcp": 1], "sockets": [["name": "a", "listen": "/a"]],
                ],
            ],
            ["key": "w", "worker": ["executable": "w", "coordinator": "W"], "placement": [:]],
        ],
        "supervision": ["backoff": [:]],
        "operators": ["group": 7],
        "logging": [:],
        "observability": ["traces": ["file": "t"], "metrics": [:]],
        "cluster": ["name": "c", "directory": "/c"],
    ]

    private static func parse(_ file: JSONValue) throws -> DaemonConfiguration {
        try DaemonConfiguration.parse(text: String(decoding: try JSONEncoder().encode(file), as: UTF8.self), file: "defaults")
    }

    /// The value that a text means.
    private static func value(_ text: String) -> JSONValue {
        if let number = Int64(text), !text.hasPrefix("00"), text == "0" || !text.hasPrefix("0") { return .integer(number) }
        if let number = Double(text), text.contains(".") { return .number(number) }
        return ["true": true, "false": false, "[]": []][text] ?? .string(text)
    }

    /// Another value, if the text is a number, with or without a unit.
    private static func other(than text: String) -> JSONValue? {
        if case .number(let number) = value(text) { return .number(number / 2) }
        guard let match = text.wholeMatch(of: /([0-9]+)([A-Za-z]*)/), let number = Int64(match.1) else { return nil }
        return match.2.isEmpty ? .integer(number + 1) : .string("\(number + 1)\(match.2)")
    }

    @Test("The files that the library's articles show are good files")
    func examples() throws {
        let folder = "\(Files.packageRoot)/Sources/Coordinators/Coordinators.docc"
        let articles = Files.names(in: folder).compactMap { Files.text(of: "\(folder)/\($0)") }
        let examples = articles.flatMap { $0.split(separator: "```yaml\n").dropFirst().compactMap { $0.split(separator: "```").first } }
        #expect(examples.count >= 1)
        for example in examples { _ = try DaemonConfiguration.parse(text: String(example), file: "example") }
    }

    /// A duration as it's written in the file.
    private static func text(_ duration: Duration) -> String {
        let (seconds, fraction) = duration.components
        return fraction == 0 ? "\(seconds)s" : "\(duration / .milliseconds(1))".split(separator: ".")[0] + "ms"
    }

    /// Returns a file that has the key at its path.
    private static func file(with path: String) -> String {
        let names = path.split(separator: ".")
        let isBelowChild = names.count > 1 && names[0] == "children"
        let lines = names.enumerated().map { depth, name in
            String(repeating: "  ", count: depth) + (isBelowChild && depth > 0 ? (depth == 1 ? "- " : "  ") : "") + name + ":"
        }
        return lines.joined(separator: "\n") + " [[]]"
    }
}

extension JSONValue {
    /// Returns the value with another one at a path of keys, in a list in each element that has a mapping for it.
    fileprivate func setting(_ value: JSONValue, at keys: [String]) -> JSONValue {
        guard let key = keys.first else { return value }
        switch self {
        case .object(var members):
            members[key] = (members[key] ?? [:]).setting(value, at: Array(keys.dropFirst()))
            return .object(members)
        case .array(let elements):
            let place = elements.firstIndex { $0.has(keys.dropLast()) } ?? elements.count - 1
            return .array(elements.enumerated().map { $0 == place ? $1.setting(value, at: keys) : $1 })
        default: return self
        }
    }

    private func has(_ keys: some Collection<String>) -> Bool {
        guard let key = keys.first else { return true }
        guard case .object(let members) = self, let member = members[key] else { return false }
        if case .array = member { return true }
        return member.has(keys.dropFirst())
    }
}
