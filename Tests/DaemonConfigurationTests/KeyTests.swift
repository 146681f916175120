import FoundationEssentials
import TestSupport
import Testing
import WireProtocol

@testable import DaemonConfiguration

/// Tests of every declared key, by the declarations.
@Suite("The keys of the configuration file")
struct KeyTests {
    /// A file that has each mapping.
    static let base: JSONValue = [
        "children": [
            [
                "name": "w", "restart_limits": ["backoff": [:]], "stop_timeout": ["draining": "9s"],
                "worker": [
                    "executable": "w", "coordinator": "W", "recycle": ["after": "1h"], "limits": limits,
                ],
            ],
            [
                "name": "p", "logging": ["file": "p.log"],
                "program": [
                    "command": ["cat"], "recycle": ["after": "1h"], "limits": limits, "ready": ["command": ["true"]], "health": ["tcp": 1],
                    "sockets": [["name": "a", "listen": "/a"]], "hooks": hooks,
                ],
            ],
            ["name": "o", "oneshot": ["command": ["true"], "limits": limits, "hooks": hooks]],
            ["name": "g", "supervision": ["backoff": [:]], "children": []],
            ["name": "s", "program": ["command": ["cat"]], "schedule": ["cron": "@daily"]],
            ["name": "c", "worker": ["executable": "w", "coordinator": "W"], "placement": [:]],
        ],
        "supervision": ["backoff": [:]],
        "operators": ["group": "staff"],
        "logging": [:],
        "observability": ["traces": ["file": "t"], "metrics": ["file": "m"]],
        "cluster": [
            "name": "c", "directory": "/c", "user": "u", "password_file": "/p", "listen": "[::1]:7400", "token_file": "/t", "tls": security,
            "link_tls": security,
        ],
    ]
    private static let former = parse(base)
    private static let security: JSONValue = ["authority": "/a", "certificate": "/b", "key": "/k"]
    private static let hooks: JSONValue = .object(
        Dictionary(uniqueKeysWithValues: Keys.hooks.keys.map { ($0.description.name, ["command": ["cat"]]) })
    )
    private static let limits: JSONValue = .object(
        Dictionary(
            uniqueKeysWithValues: Keys.limits.keys.map { key in
                let isOfGroup = ["memory", "cpus", "pids"].contains(key.description.name)
                return (key.description.name, isOfGroup ? 9 : ["soft": 7, "hard": 9])
            }
        )
    )

    /// Values of all forms, of which each key takes one.
    private static let samples: [JSONValue] = [
        true, false, "7s", 8, 700, 0.25, "64KiB", "64", "seven", "/seven", ["seven"], ["Seven."], "seven:7", "/seven:7", "http://seven",
        "http://localhost:7/", ["https://seven"], [8], ["seven": "7"], ["g"], "infinity", "none", "notify", "QUIT", ["group": "seven"],
        [["name": "b", "listen": "/b"]], ["tcp": 7], ["weight": 3], ["file": "/seven"], ["executable": "v", "coordinator": "V"],
        ["metrics": [:]], ["max_restarts": 8], ["minimum": "1ms"], ["keep": 8], ["name": "d", "directory": "/d"], ["authority": "/seven"],
        ["authority": "/seven", "certificate": "/b", "key": "/k"], ["restart": "never"], ["/none/*.yaml"], ["command": ["seven"]],
        ["core": 7], ["after": "7s"],
        ["chown"], "open",
        "@weekly", ["cron": "@weekly"], ["reload": "QUIT"],
    ]

    /// Returns the samples that may have the form of a JSON schema.
    private static func samples(_ schema: JSONValue) -> [JSONValue] {
        guard case .object(let members) = schema else { return samples }
        if case .array(let names)? = members["enum"] { return names }
        let type: JSONValue? = members["$ref"] == nil ? members["type"] : "object"
        return samples.filter { sample in
            switch (type, sample) {
            case ("boolean"?, .bool), ("integer"?, .integer), ("number"?, .number), ("number"?, .integer): true
            case ("string"?, .string), ("array"?, .array), ("object"?, .object): true
            case (.string?, _): false
            default: true
            }
        }
    }

    private static func parse(_ file: JSONValue) -> DaemonConfiguration? {
        guard let text = try? JSONEncoder().encode(file) else { return nil }
        return try? DaemonConfiguration.parse(text: String(decoding: text, as: UTF8.self), file: "f")
    }

    /// Returns files in which a key has a value, and those that exclude it aren't there: one for each place of its mapping.
    private static func files(with value: JSONValue, at place: SchemaDocuments.Place) -> [JSONValue] {
        var excluded: Set<String> = []
        for case .one(let keys) in place.rules where keys.contains(place.path[place.path.count - 1]) { excluded.formUnion(keys) }
        for case .oneAtMost(let keys) in place.rules where keys.contains(place.path[place.path.count - 1]) { excluded.formUnion(keys) }
        return base.setting(value, at: place.path[...], without: excluded)
    }

    /// Keys that take none of the samples in the file above.
    private static let others: Set<String> = [
        // The whole lists; and what is for workers, or has to be beside another key.
        "children", "children.children", "children.program.recycle.messages",
    ]

    @Test(
        "Each key is read, compared and suggested, and a change of it does what is declared",
        arguments: SchemaDocuments.places.map(\.path)
    )
    func each(path: [String]) throws {
        let place = try #require(SchemaDocuments.places.first { $0.path == path })
        let former = try #require(Self.former)
        let name = path.joined(separator: ".")
        #expect(!place.key.documentation.isEmpty)
        if Self.others.contains(name) { return }
        let samples = Self.samples(place.key.schema).lazy
        let next = samples.flatMap { Self.files(with: $0, at: place) }.compactMap(Self.parse).first { $0 != former }
        guard let next else { return #expect(Bool(false), "no sample makes a difference") }
        let key = path.first == "children" && path.count > 1 ? Array(path.dropFirst()) : path
        let differences = ConfigurationPlan(from: former, to: next).changes.flatMap(\.differences)
        // The name of a child is its place in the tree, and what a file includes is in the children; a mapping differs in its keys.
        if key != ["name"], key != ["instances"], key != ["include"] {
            let found = differences.filter {
                ($0.key + ".").hasPrefix(key.joined(separator: ".") + ".")
                    || key.starts(with: $0.key.split(separator: ".").map(String.init))
            }
            #expect(!found.isEmpty, "\(differences)")
            for difference in found where difference.key == key.joined(separator: ".") { #expect(difference.effect == place.effect) }
        }
        // A default that is a value changes nothing when it's written out, unless the runtime has it.
        if let literal = place.fallback.wholeMatch(of: /`([^`]+)`/)?.1, name != "children.program.start_timeout" {
            let written = Self.files(with: SchemaDocuments.value(String(literal)), at: place).lazy.compactMap(Self.parse)
            #expect(written.contains(former), "\(literal)")
        }
    }

    @Test("Each text of a child has the instance's number in place of {instance}", arguments: SchemaDocuments.places.map(\.path))
    func instances(path: [String]) throws {
        let place = try #require(SchemaDocuments.places.first { $0.path == path })
        // Names of children, and of what's placed together, are the same for all instances.
        guard path.first == "children", !["name", "after", "requires", "receives", "children", "defaults"].contains(path.last ?? "") else {
            return
        }
        let texts: [JSONValue] = ["x{instance}", "/x{instance}", ["x{instance}"], ["A": "x{instance}"], "http://localhost:7/x{instance}"]
        for file in texts.flatMap({ Self.files(with: $0, at: place) }) {
            for var child in Self.parse(file)?.children ?? [] where "\(child)".contains("x{instance}") {
                child.instances = 3
                let second = "\([child].withInstances[1])"
                #expect(second.contains("x2") && !second.contains("{instance}"), "\(second)")
            }
        }
    }

    @Test("Each port of a program is that of its instance, in every form that the key takes")
    func ports() {
        var found: Set<String> = []
        for place in SchemaDocuments.places where place.path.first == "children" {
            for value in ["80{instance}", "127.0.0.1:80{instance}", "http://localhost:80{instance}/up"] as [JSONValue] {
                for var file in Self.files(with: value, at: place) {
                    guard case .array(var children)? = file["children"] else { continue }
                    children[1]["instances"] = 3
                    file["children"] = .array(children)
                    guard let child = Self.parse(file)?.children.first(where: { $0.key == "p" }) else { continue }
                    guard case .program(let program) = child.content, program.instancePorts != nil else { continue }
                    found.insert(place.path.dropFirst().joined(separator: "."))
                    let second = "\([child].withInstances[1])"
                    #expect(second.contains("802") && !second.contains("801") && !second.contains("{instance}"), "\(second)")
                    #expect(child.portProblem(of: 9) == nil && child.portProblem(of: 999)?.contains("for instance 100") == true)
                }
            }
        }
        #expect(found == Set(["ready.tcp", "ready.http", "health.tcp", "health.http", "sockets.listen"].map { "program.\($0)" }))
    }

    @Test("No name of a child has a character that breaks lines or changes their direction, and every other one can be in a name")
    func characters() {
        let suspects = (0...0x10_FFFF).compactMap(Unicode.Scalar.init).filter { scalar in
            [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory) || scalar.properties.isBidiControl
        }
        #expect(suspects.count > 75)
        for (scalar, isGood) in suspects.map({ ($0, false) }) + (["\u{200D}", "ü", "日", "א"] as [Unicode.Scalar]).map({ ($0, true) }) {
            // As an escape: some of them end a line of YAML.
            let code = String(scalar.value, radix: 16)
            let name = "a\\u" + String(repeating: "0", count: 4 - code.count) + code + "b"
            let file = try? DaemonConfiguration.parse(text: "children: [{ name: \"\(name)\", program: { command: [cat] } }]", file: "f")
            #expect((file != nil) == isGood, "\(name)")
        }
    }

    @Test("A former name, and those that other programs have, lead to the key; none of them is a key's")
    func names() {
        let reader = ConfigurationReader(file: "f")
        for table in Keys.tables {
            let keys = table.rows.map(\.key)
            let others = keys.flatMap { $0.others + $0.former }
            #expect(Set(others).isDisjoint(with: keys.map(\.name)) && Set(others).count == others.count, "\(table.name): \(others)")
            for key in keys {
                for former in key.former {
                    let (problem, meant) = reader.unknown(former, in: "`m`", keys, beside: [])
                    #expect(problem == "`\(former)` is now called `\(key.name)`" && meant == key.name)
                }
                for other in key.others {
                    let (problem, meant) = reader.unknown(other, in: "`m`", keys, beside: [])
                    #expect(problem == "unknown key `\(other)` in `m`; did you mean `\(key.name)`?" && meant == key.name)
                }
            }
        }
    }

    @Test("Each key of a program that another child doesn't have says why; keys that both have are found by the same words")
    func absent() throws {
        let programs = Keys.program.keys.map(\.description)
        let tables: [(String, any KeyTable)] = [("oneshot", Keys.oneshot), ("worker", Keys.worker)]
        for (kind, table) in tables {
            let keys = table.rows.map { $0.key }
            let missing = programs.filter { program in !keys.contains { key in key.name == program.name || key.isMeant(by: program.name) } }
            #expect(Set(missing.map(\.name)) == Set(try #require(Keys.absent[kind]).keys), "\(kind)")
            for key in missing.map(\.name) {
                let own = kind == "oneshot" ? "command: [cat]" : "executable: a, coordinator: B"
                let error = #expect(throws: ConfigurationError.self) {
                    try DaemonConfiguration.parse(text: "children: [{ name: a, \(kind): { \(own), \(key): x } }]", file: "f")
                }
                let message = "unknown key `\(key)` in `\(kind)`; `\(key)` is for \(Keys.absent[kind]?[key] ?? "")"
                #expect(error?.problems.map(\.message) == [message])
            }
            for key in keys {
                guard let other = programs.first(where: { $0.name == key.name }) else { continue }
                #expect(Set(key.former + key.others) == Set(other.former + other.others), "\(kind) \(key.name)")
            }
        }
    }

    @Test("A property that no key has makes a difference too")
    func withoutKey() {
        struct Pair: Hashable {
            var known = 0
            var unknown = 0
        }
        let table = Table("pair", Pair()) { Key("known", .integer(0...9), \.known).says("A number.") }
        #expect(table.differences(Pair(), Pair(known: 1), Keys.ofChild).map(\.key) == ["known"])
        #expect(table.differences(Pair(), Pair(unknown: 1), Keys.ofChild).map(\.effect) == [.restart])
        #expect(table.differences(Pair(), Pair(), Keys.ofChild) == [])
    }

    @Test("No value of a secret is in a difference")
    func secrets() {
        let former = DaemonConfiguration(children: [])
        var next = former
        let worker = ConfiguredWorker(
            executable: "/w",
            coordinator: "W",
            configuration: ["password": "tell"],
            environment: ["TOKEN": "tell"]
        )
        let children = [worker, ConfiguredWorker(executable: "/w", coordinator: "W", environment: ["TOKEN": "told", "A": "tell"])].map {
            ConfiguredChild(key: "a", content: .worker($0))
        }
        var differences: [KeyDifference] = []
        for (before, after) in [(0, 1), (1, 0)] {
            next.children = [children[after]]
            var former = former
            former.children = [children[before]]
            differences += ConfigurationPlan(from: former, to: next).changes.flatMap(\.differences)
        }
        let keys = ["worker.configuration", "worker.environment.A", "worker.environment.TOKEN"]
        #expect(differences.map(\.key) == keys + keys)
        #expect(!differences.contains { "\($0)".contains("tell") || "\($0)".contains("told") })
    }
}

extension JSONValue {
    /// Returns the value with another one at a path of keys, once for each element of a list on the way.
    fileprivate func setting(_ value: JSONValue, at keys: ArraySlice<String>, without others: Set<String>) -> [JSONValue] {
        guard let key = keys.first else { return [value] }
        switch self {
        case .object(let members):
            let rest = keys.dropFirst()
            if rest.isEmpty { return [.object(members.filter { !others.contains($0.key) }.merging([key: value]) { $1 })] }
            guard let member = members[key] else { return [] }
            return member.setting(value, at: rest, without: others).map { .object(members.merging([key: $0]) { $1 }) }
        case .array(let elements):
            return elements.indices.flatMap { place in
                elements[place].setting(value, at: keys, without: others).map { changed in
                    .array(elements.indices.map { $0 == place ? changed : elements[$0] })
                }
            }
        default: return []
        }
    }
}
