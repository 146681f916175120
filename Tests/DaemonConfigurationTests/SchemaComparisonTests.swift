import FoundationEssentials
import TestSupport
import Testing
import WireProtocol

@testable import DaemonConfiguration

/// The reader beside the JSON schema: values of all forms and around every bound for each key, keys in pairs and left out, and the bad files.
@Suite("The JSON schema beside the reader", .timeLimit(minutes: 20))
struct SchemaComparisonTests {
    /// A file that both judge.
    private struct Sample {
        /// The mapping, the key and the value, or the keys and their values.
        let name: String
        let file: JSONValue
        let isRead: Bool

        /// The value, of a sample that has one.
        var value: String { String(name.drop { $0 != ":" }.dropFirst(2)) }
    }

    /// What both judge otherwise, because a JSON schema can't say it.
    private struct Gap {
        /// Whether the schema accepts what the reader refuses, or the other way round.
        enum Way {
            case laxer, stricter
        }

        let reason: String
        let way: Way
        /// The keys with their mappings; empty: any.
        let keys: [String]
        let values: [String]

        init(_ reason: String, _ way: Way, keys: [String] = [], values: [String]) {
            (self.reason, self.way, self.keys, self.values) = (reason, way, keys, values)
        }
    }

    // MARK: Values

    /// Values as the file has them, by the type that a schema has for them.
    private static let values: [(type: String, values: [String])] = [
        ("", ["null", "~", "true", "false", "no", "5", "0.5", "''", "x", "[]", "[x]", "{}", "{a: b}", "-1"]),
        (
            "number",
            [
                "0", "1", "2", "3", "7", "8", "9", "19", "20", "64", "254", "255", "256", "0777", "0640", "0680", "777", "778", "0o17",
                "0o777", "0o1000",
                "1000", "1001", "01000", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807",
                "-0", "-20", "-21", "-1000", "-1001", "0.0", "1.0", "8.0", "0.01", "0.009", "1.5", "1000.5", "1e3", "10000", "10001", "99",
                "100",
                "101", "1000000", "1000001", "4194304", "4194305", "\"5\"", "0x1F",
            ]
        ),
        (
            "string",
            [
                "\"5\"", "\"true\"", "\"null\"", "a b", "0ms", "0s", "00h", "1ms", "99ms", "100ms", "0100ms", "1s", "2s", "1999ms",
                "2000ms", "5s",
                "1h", "1.5s", "5 s", "5S", "-5s", "1d", "999999999999h", "1000000000000h", "0KiB", "1KiB", "15KiB", "16KiB", "016KiB",
                "16KB",
                "17KB", "1MiB", "1MB", "999999999GB", "1000000000GB", "1TiB", "8388607TiB", "8388608TiB", "8589934591GiB", "8589934592GiB",
                "9007199254740991KiB", "9007199254740992KiB", "64kib", "64K", "16384B", "/a", "./a", "~/a", "\"~\"", "$A/b", "a$b", "-~/a",
                "-$a",
                "-/a", "'-'", "none", "notify", "\(String(repeating: "/long", count: 21))/1", "\(String(repeating: "/long", count: 21))/12",
                "127.0.0.1:80", "127.0.0.1:0", "127.0.0.1:65535", "127.0.0.1:65536", "127.0.0.1:+80", "'127.0.0.1:'", "localhost:80",
                "localhost:65536", "\"[::1]:80\"", "\"[::1]:65536\"", "\"[x]:80\"", "\"[fe80::1%1]:80\"", "\"*:80\"", "256.1.1.1:80",
                "1.1.1:80", "h:80", "h_:80", "\":80\"",
                "\(String(repeating: "h", count: 253)):80", "\(String(repeating: "h", count: 254)):80", "\"80{instance}\"",
                "\"localhost:80{instance}\"", "\"127.0.0.1:80{instance}\"", "\"9999{instance}\"", "\"127.0.0.1:9999{instance}\"",
                "http://127.0.0.1", "http://127.0.0.1/a",
                "'http://127.0.0.1:80/x?y'", "http://127.0.0.1:65536", "http://127.0.0.1:0", "http://127.0.0.1x", "http://localhost/é",
                "http://localhost/a b", "http://a:80", "http://a:65536", "http://a:+80", "http://u@h", "https://h", "https://u@h",
                "\"http://\"", "\"https://\"",
                "\"http://h#f\"", "\"http://h/#f\"", "\"http://[::1]:80\"", "\"http://[::1\"", "\"http://[]\"", "\"http://:80\"",
                "'@daily'", "'@often'",
                "'0 3 * * *'", "'60 3 * * *'", "'* * * *'", "'* * * * * *'", "a/b", ".", "..", "\"a\\tb\"", "\"\\u202ea\"", "a-b", "-a",
                "a-", "a_b", "A.", "A|",
                "coordinators.A", "\(String(repeating: "a", count: 63))", "\(String(repeating: "a", count: 64))",
                "\(String(repeating: "a", count: 255))", "\(String(repeating: "a", count: 256))", "\(String(repeating: "é", count: 128))",
                "027", "\"027\"", "\"8\"",
                "\"0o27\"", "\"0778\"", "\"0777\"", "\"01777\"", "\"00777\"", "\"777\"", "\"77\"", "'root:root'", "'root:'", "':root'",
                "':'", "'a:b:c'", "'('", "'(a)\\1'",
                "'a{65}'", "Europe/Berlin", "0x", "SIGTERM", "TERM", "term", "always", "permanent", "Always", "CAP_CHOWN", "CHOWN",
                "cap_chown", "chown", "brutalKill",
            ]
        ),
        (
            "array",
            [
                "[5]", "[null]", "[true]", "[0.5]", "[[x]]", "['']", "[a b]", "[x, null]", "[x, 5]", "[x, [y]]", "[~/a]", "[a, a]", "[256]",
                "[-1]", "[0, 255]", "[1.0]", "[A.]", "[A|]", "[coordinators.A]", "['-~/a']", "[-/a]", "[http://h]", "[http://u@h]",
                "[ftp://h]", "[chown]", "[CHOWN]", "[{}]", "[{group: a}]", "[{group: 0}, {group: b, role: operate}]",
                "[{name: a, listen: /a}]",
            ]
        ),
        (
            "object",
            [
                "{A: 5}", "{\"A=B\": x}", "{a: null}", "{a: [x]}", "{'': x}", "{a: true}", "{a: started}", "{a: healthy}", "{group: -1}",
                "{group: 4294967296}", "{command: [x]}", "{command: [x], timeout: 0s}", "{draining: 5s}", "{draining: 5}",
                "{soft: 1, hard: 2}", "{soft: 2, hard: 1}", "{soft: 1}", "{restart: never}", "{weight: 1}", "{nam: a}",
            ]
        ),
    ]

    /// Returns the values that are tried with a form: those that anything may have, and those of its types.
    private static func values(of schema: JSONValue) -> [String] {
        var types: Set<String> = [""]
        func visit(_ schema: JSONValue) {
            switch schema {
            case .string("integer"): types.insert("number")
            case .string(let type): types.insert(type)
            case .array(let elements): elements.forEach(visit)
            case .object(let members):
                if members["enum"] != nil || members["const"] != nil { types.insert("string") }
                // A mapping, or the numbers of octal digits.
                if members["$ref"] != nil { types.formUnion(["object", "number"]) }
                members.values.forEach(visit)
            case .null, .bool, .integer, .number: break
            }
        }
        visit(schema)
        // A word is one of few.
        if schema["enum"] != nil { types = [""] }
        var found = values.filter { types.contains($0.type) }.flatMap(\.values)
        if case .array(let words)? = schema["enum"] { found += words.compactMap(\.stringValue) }
        var seen: Set<String> = []
        return found.filter { seen.insert($0).inserted }
    }

    private static func json(_ text: String) throws -> JSONValue? {
        var reader = ConfigurationReader(file: "f")
        let node = try YAMLComposer.compose(text, file: "f")
        let value = node.flatMap { reader.json($0) }
        return reader.problemsInFileOrder.isEmpty ? value : nil
    }

    // MARK: Samples

    /// A mapping in a file.
    private struct Place {
        let table: any KeyTable
        let path: [Step]
        let members: [String: JSONValue]
    }

    private enum Step {
        case key(String)
        case index(Int)
    }

    /// The mappings of a value that is, or has in it, one with a table.
    private static func places(_ value: JSONValue, _ table: any KeyTable, _ path: [Step] = []) -> [Place] {
        switch value {
        case .array(let elements): return elements.enumerated().flatMap { places($1, table, path + [.index($0)]) }
        case .object(let members):
            return [Place(table: table, path: path, members: members)]
                + table.rows.flatMap { row in
                    guard let member = members[row.key.name], let inner = row.key.table?() else { return [] as [Place] }
                    return places(member, inner, path + [.key(row.key.name)])
                }
        default: return []
        }
    }

    private static func setting(_ value: JSONValue, _ path: ArraySlice<Step>, to mapping: JSONValue) -> JSONValue {
        guard let step = path.first else { return mapping }
        switch (step, value) {
        case (.key(let key), .object(let members)):
            return .object(members.merging([key: setting(members[key] ?? [:], path.dropFirst(), to: mapping)]) { $1 })
        case (.index(let index), .array(var elements)):
            elements[index] = setting(elements[index], path.dropFirst(), to: mapping)
            return .array(elements)
        default: return value
        }
    }

    private static func isRead(_ text: String) -> Bool { (try? DaemonConfiguration.parse(text: text, file: "f")) != nil }

    private static func text(_ file: JSONValue) throws -> String { String(decoding: try JSONEncoder().encode(file), as: UTF8.self) }

    private static func sample(_ name: String, _ file: JSONValue, replacing value: String? = nil) throws -> Sample? {
        let text = try text(file)
        guard let value else { return Sample(name: name, file: file, isRead: isRead(text)) }
        // The value stays as it's written: 027 isn't 27 to the reader.
        let written = text.replacing("\"\(mark)\"", with: value)
        guard let file = try json(written) else { return nil }
        return Sample(name: name, file: file, isRead: isRead(written))
    }

    private static let mark = "THE VALUE"

    /// One file for each child, and one for what isn't a child's, so that each is small.
    private static let files: [JSONValue] = {
        // The bounds of what one value demands of another are wide, so that each is tried by itself.
        let (limit, backoff) = (#"{"soft":0,"hard":"unlimited"}"#, #""backoff":{"minimum":"0s","maximum":"999999999999h"}"#)
        let wide = (try? text(KeyTests.base))?.replacing(#"{"soft":7,"hard":9}"#, with: limit).replacing(
            #"{"hard":9,"soft":7}"#,
            with: limit
        )
        guard
            var file = try? json(
                (wide ?? "").replacing(#""backoff":{}"#, with: backoff).replacing(#""name":"p""#, with: #""name":"p","instances":3"#)
            )
        else { return [] }
        guard case .array(let children)? = file["children"] else { return [] }
        file["children"] = []
        let inner: JSONValue = ["name": "g", "children": [["name": "i", "worker": ["executable": "w", "coordinator": "W"]]]]
        return [file] + (children + [inner]).map { ["children": [$0]] }
    }()

    private static func samples() throws -> [Sample] {
        var samples: [Sample] = []
        var tried: Set<String> = []
        var number = 0
        /// Values that the reader takes, by mapping and key.
        var good: [String: [String]] = [:]
        let places = files.flatMap { file in Self.places(file, Keys.file).map { (file, $0) } }
        for (file, place) in places {
            for (key, _) in place.table.rows {
                let name = "\(place.table.name).\(key.name)"
                let excluded = place.table.rules.reduce(into: Set<String>()) { others, rule in
                    switch rule {
                    case .one(let keys), .oneAtMost(let keys): if keys.contains(key.name) { others.formUnion(keys) }
                    case .both, .needs, .schema: break
                    }
                }
                // The pairs below show what a child's keys demand of one another. With few rounds a form is tried at one key.
                let isForm = key.table == nil && TestTier.current == .short
                guard tried.insert(isForm ? "\(key.schema)" : name).inserted else { continue }
                // The files are read when they are included.
                if key.name == "include" { continue }
                for value in values(of: key.schema) {
                    // Each form still has some forty values.
                    number += 1
                    if TestTier.current == .short, !number.isMultiple(of: 4) { continue }
                    let members = place.members.filter { !excluded.contains($0.key) }.merging([key.name: .string(mark)]) { $1 }
                    let changed = setting(file, place.path[...], to: .object(members))
                    guard let sample = try sample("\(name): \(value)", changed, replacing: value) else { continue }
                    samples.append(sample)
                    // In pairs the values are as JSON has them.
                    if sample.isRead, isRead(try text(sample.file)) { good[name, default: []].append(value) }
                }
            }
        }
        // Keys in pairs, and what is left out.
        for (file, place) in places where TestTier.current != .short || !place.table.rules.isEmpty {
            let keys = place.table.rows.map(\.key.name)
            for (index, key) in keys.enumerated() {
                if place.members[key] != nil {
                    let file = setting(file, place.path[...], to: .object(place.members.filter { $0.key != key }))
                    if let sample = try sample("\(place.table.name) without \(key)", file) { samples.append(sample) }
                }
                for other in keys.dropFirst(index + 1) {
                    func some(_ key: String) -> [JSONValue] {
                        let values = good["\(place.table.name).\(key)"] ?? []
                        let some = TestTier.current == .short ? [values.last] : [values.first, values.last]
                        return Set(some).compactMap { $0 }.sorted().compactMap { try? json($0) }
                    }
                    for (first, second) in some(key).flatMap({ first in some(other).map { (first, $0) } }) {
                        let members = place.members.merging([key: first, other: second]) { $1 }
                        let file = setting(file, place.path[...], to: .object(members))
                        let shown = try "\(text(first)), \(text(second))"
                        if let sample = try sample("\(place.table.name).\(key)+\(other): \(shown)", file) { samples.append(sample) }
                    }
                }
            }
        }
        // The bad files.
        typealias Bad = ConfigurationProblemTests
        let rows = Bad.rowsOfFile + Bad.rowsOfChildren + Bad.rowsOfSettings + Bad.rowsOfLogging + Bad.rowsOfObservability + Bad.rowsOfLinks
        for row in rows + Bad.rowsOfReceives {
            guard let file = try? json(row.text) else { continue }
            samples.append(Sample(name: "bad file: \(row.testDescription)", file: file, isRead: false))
        }
        return samples
    }

    private static let programs = ["program", "oneshot"]
    private static let gaps: [Gap] = [
        Gap(
            "the schema knows no difference between 1 and 1.0 or 1e3",
            .laxer,
            values: ["0.0", "1.0", "8.0", "1e3", "[1.0]"]
        ),
        Gap(
            "the schema sees no digits: 8 is what YAML has for 0o10 too",
            .laxer,
            keys: (programs + ["worker"]).map { "\($0).umask" },
            values: ["-0", "8", "9", "19", "99", "0x1F"]
        ),
        Gap(
            "the schema sees no digits: 7 is what YAML has for 007 too",
            .laxer,
            keys: ["logging.mode", "socket.mode"],
            values: ["-0", "0", "1", "2", "3", "5", "7", "8", "9", "19", "20", "64", "99", "0o17", "0x1F"]
        ),
        Gap(
            "one value is compared with another",
            .laxer,
            keys: ["as", "core", "cpu", "data", "fsize", "memlock", "nofile", "nproc", "stack"].map { "limits.\($0)" },
            values: ["{soft: 2, hard: 1}"]
        ),
        Gap("one value is compared with another", .laxer, keys: ["bad file"], values: ["a backoff that shrinks"]),
        Gap(
            "names of siblings are elsewhere in the file",
            .laxer,
            keys: ["child.after", "child.requires"],
            values: [
                "['-~/a']", "[-/a]", "[A.]", "[A|]", "[CHOWN]", "[a b]", "[a, a]", "[chown]", "[coordinators.A]", "[ftp://h]", "[http://h]",
                "[http://u@h]", "[x]", "[~/a]", "{a: healthy}",
            ]
        ),
        Gap("a name has a number of bytes", .laxer, keys: ["child.name"], values: [String(repeating: "é", count: 128)]),
        Gap(
            "the numbers of a child's instances are elsewhere in the file",
            .laxer,
            keys: ["health.tcp", "ready.tcp"],
            values: ["\"9999{instance}\"", "\"127.0.0.1:9999{instance}\""]
        ),
        Gap(
            "the numbers of a child's instances are elsewhere in the file",
            .laxer,
            keys: ["socket.listen"],
            values: ["\"127.0.0.1:9999{instance}\""]
        ),
        Gap(
            "the numbers of a child's instances are elsewhere in the file",
            .laxer,
            keys: ["bad file"],
            values: ["a port of an instance where there are none", "a port that the last instances don't have"]
        ),
        Gap("the numbers of a program's sockets are elsewhere in the file", .laxer, keys: ["ready.fd"], values: ["3"]),
        Gap(
            "a regular expression is a language of its own",
            .laxer,
            keys: ["ready.log"],
            values: [
                "\"*:80\"", "\"80{instance}\"", "\"9999{instance}\"", "\"127.0.0.1:80{instance}\"", "\"127.0.0.1:9999{instance}\"",
                "\"localhost:80{instance}\"", "\"http://[::1\"", "\"http://[]\"", "'('", "'(a)\\1'", "'* * * *'", "'* * * * * *'",
                "'a{65}'",
            ]
        ),
        Gap("cron's fields are a language of their own", .laxer, keys: ["schedule.cron"], values: ["'60 3 * * *'"]),
        Gap("JSON has no such file", .laxer, keys: ["bad file"], values: ["a key used twice", "an escaped NUL"]),
        Gap(
            "a port may have a sign, which nobody writes",
            .stricter,
            keys: ["cluster.address", "cluster.listen", "health.tcp", "ready.tcp", "socket.listen"],
            values: ["127.0.0.1:+80"]
        ),
        Gap(
            "a port may have a sign, which nobody writes",
            .stricter,
            keys: ["metrics.endpoint", "traces.endpoint"],
            values: ["http://a:+80"]
        ),
    ]

    @Test("Both judge the same, but for what a JSON schema can't say")
    func compared() async throws {
        guard await SchemaTests.canValidate() else { return print("there is no jsonschema_rs; nothing was compared") }
        let samples = try Self.samples()
        let verdicts = try await SchemaTests.verdicts(ofJSON: samples.map { try Self.text($0.file) })
        try #require(verdicts.count == samples.count)
        print("\(samples.count) files were compared")
        let listed = Self.gaps.flatMap { gap in gap.keys.flatMap { key in gap.values.map { ("\(key): \($0)", gap.way) } } }
        var expected = Dictionary(uniqueKeysWithValues: listed)
        let anywhere = Set(Self.gaps.filter(\.keys.isEmpty).flatMap(\.values))
        for (sample, isValid) in zip(samples, verdicts) {
            // Of these pairs one is compared with the other.
            if ["limit", "backoff"].contains(where: sample.name.hasPrefix), sample.name.contains("+") { continue }
            let way: Gap.Way? = sample.isRead == isValid ? nil : isValid ? .laxer : .stricter
            if way == .laxer, anywhere.contains(sample.value) { continue }
            #expect(way == expected[sample.name], "\(sample.name)")
            expected[sample.name] = nil
        }
        // With few rounds not all are tried.
        if TestTier.current != .short { #expect(expected.isEmpty) }
    }
}
