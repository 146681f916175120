import Glibc
import Processes
import Supervision
import TestSupport
import Testing

@testable import DaemonConfiguration

@Suite("What a file says once: defaults, and files that it includes")
struct DefaultsTests {
    private static func read(_ files: [String: String], checkingFiles: Bool = false) throws -> (DaemonConfiguration, String) {
        let directory = try TemporaryDirectory()
        for (name, text) in files {
            for (index, sign) in zip(name.indices, name) where sign == "/" { mkdir(directory.file(String(name[..<index])), 0o700) }
            try Files.write(text, to: directory.file(name))
        }
        let (configuration, text) = try DaemonConfiguration.read(path: directory.file("main.yaml"), checkingFiles: checkingFiles)
        return (configuration, text.replacing(directory.path, with: "DIR"))
    }

    private static func problems(_ files: [String: String]) throws -> [String] {
        do {
            _ = try read(files)
            return []
        } catch let error as ConfigurationError {
            return error.problems.map { problem in
                let file = problem.file.split(separator: "/").last.map(String.init) ?? ""
                let message = problem.message.replacing(#/`[^`]*/([^`/]*)`/#) { "`\($0.1)`" }
                return "\(file):\(problem.line):\(problem.column): \(message)"
            }
        }
    }

    @Test("A child has the defaults that it doesn't set; mappings are merged, a group's defaults are over those around it")
    func merged() throws {
        let (configuration, _) = try Self.read([
            "main.yaml": """
            defaults:
              restart: on_failure
              stop_timeout: 9s
              restart_limits: { max_restarts: 7, backoff: { minimum: 2s } }
              logging: { directory: /logs, keep: 3 }
              program: { user: "1", environment: { A: "1", B: "1" }, limits: { nofile: 10 } }
              worker: { executable: /w }
            children:
              - { name: a, program: { command: [a] } }
              - name: b
                restart: never
                restart_limits: { backoff: { maximum: 1m } }
                logging: { file: /b.log }
                program: { command: [b], environment: { B: "2", C: "2" }, user: "2" }
              - { name: w, worker: { coordinator: W } }
              - name: g
                defaults: { restart: always, program: { environment: { A: "3" } } }
                children:
                  - { name: c, program: { command: [c] } }
            """
        ])
        let children = Dictionary(uniqueKeysWithValues: configuration.children.map { ($0.key, $0) })
        let (a, b, w, g) = (
            try #require(children["a"]), try #require(children["b"]), try #require(children["w"]), try #require(children["g"])
        )
        #expect(a.restart == .transient && a.shutdown == .timeout(.seconds(9)) && a.restartLimits?.intensity == .restarts(7))
        #expect(
            b.restart == .temporary && b.restartLimits?.backoff?.minimum == .seconds(2) && b.restartLimits?.backoff?.maximum == .seconds(60)
        )
        // One of `directory` and `file` excludes the other.
        #expect(b.logging?.destination == .file("/b.log") && b.logging?.keep == 3)
        guard case .program(let program) = b.content, case .worker(let worker) = w.content, case .group(let group) = g.content,
            case .program(let inner) = group.children[0].content
        else { return #expect(Bool(false), "the kinds are as written") }
        #expect(program.environment == ["A": "1", "B": "2", "C": "2"] && program.process.attributes.user == "2")
        #expect(worker.executable == "/w" && w.restart == .transient)
        // What is for workers and programs isn't for the group itself.
        #expect(g.restart == .permanent && g.shutdown == .infinity && group.children[0].restart == .permanent)
        #expect(inner.environment == ["A": "3", "B": "1"] && inner.process.attributes.limits[.openFiles]?.soft == 10)
    }

    @Test("A problem in defaults is reported once, where it is, also when no child has them")
    func problemsOfDefaults() throws {
        let file = "defaults: { restart: sometimes, program: { usr: x, command: [] }, name: a, nice: 3 }\nchildren: []\n"
        let children = "children: [{ name: a, program: { command: [a] } }, { name: b, program: { command: [b] } }]\n"
        for text in [file, file.replacing("children: []\n", with: children)] {
            let problems = try Self.problems(["main.yaml": text])
            #expect(problems.count == 5 && Set(problems).count == 5, "\(problems)")
            #expect(
                problems.contains("main.yaml:1:22: `restart` is `sometimes`; expected one of `always`, `on_failure`, `never`"),
                "\(problems)"
            )
            #expect(problems.contains("main.yaml:1:44: unknown key `usr` in `program`; did you mean `user`?"), "\(problems)")
            #expect(problems.contains { $0.contains("unknown key `name` in `defaults`") }, "\(problems)")
            #expect(
                problems.contains { $0.contains("unknown key `nice` in `defaults`; it belongs one level down, in `program`") },
                "\(problems)"
            )
        }
        let outside = try Self.problems(["main.yaml": "children: [{ name: a, defaults: {}, program: { command: [a] } }]"])
        #expect(outside == ["main.yaml:1:33: `defaults` is for a child with `children`, whose children it's for; expected `children` too"])
    }

    @Test("Defaults count for each child, so that a small file can't have a large meaning")
    func bomb() throws {
        let variables = (0..<2000).map { "A\($0): x" }.joined(separator: ", ")
        let children = (0..<500).map { "  - { name: c\($0), program: { command: [a] } }\n" }.joined()
        let problems = try Self.problems(["main.yaml": "defaults: { program: { environment: { \(variables) } } }\nchildren:\n\(children)"])
        #expect(problems.count == 1 && problems[0].contains("values (`defaults` count for each child); expected fewer"), "\(problems)")
    }

    @Test(
        "Children of included files follow in the order of the list, from files, directories and patterns, relative to the including file"
    )
    func included() throws {
        let child = { (name: String) in "children: [{ name: \(name), program: { command: [\(name)] } }]\n" }
        let files = [
            "main.yaml": child("a")
                + "include: [conf/z.yaml, conf/more, \"sites/*.yaml\", \"none/*.yaml\"]\ndefaults: { restart: never }\n",
            "conf/z.yaml": child("z") + "include: deeper/y.yaml\ndefaults: { program: { nice: 5 } }\n",
            "conf/deeper/y.yaml": child("y"),
            "conf/more/2.yml": child("m2"), "conf/more/1.yaml": child("m1"), "conf/more/note.txt": "no",
            "sites/s.yaml": child("s").replacing("}}]", with: "}, restart: always }]"),
        ]
        let (configuration, text) = try Self.read(files)
        #expect(configuration.children.map(\.key) == ["a", "z", "y", "m1", "m2", "s"])
        #expect(configuration.children.map(\.restart) == Array(repeating: .temporary, count: 6))
        let nice = configuration.children.map { child in
            if case .program(let program) = child.content { program.process.attributes.nice } else { nil as Int? }
        }
        #expect(nice == [nil, 5, 5, nil, nil, nil])
        // The text that a daemon keeps of what is in effect needs no file.
        let again = try DaemonConfiguration.parse(text: text, file: "/nowhere/f")
        #expect(again.children == configuration.children && ConfigurationPlan(from: again, to: configuration).isEmpty)
        #expect(try DaemonConfiguration.parse(text: child("a"), file: "f").children.count == 1)
    }

    @Test(
        "Problems of included files have these files' names and lines",
        arguments: [
            (
                ["b.yaml": "children:\n  - { name: b, program: { command: 5 } }\n"],
                ["b.yaml:2:36: `command` is the number 5; expected a list"]
            ),
            (["b.yaml": "children: [\n"], ["b.yaml:2:1: not valid YAML"]),
            (
                ["b.yaml": "children:\n  - { name: a, program: { command: [b] } }\n"],
                ["b.yaml:2:13: the name `a` is taken by the child at line 1 of the main file"]
            ),
            (["b.yaml": "supervision: {}\n"], ["b.yaml:1:1: unknown key `supervision` in an included file"]),
            (
                ["b.yaml": "include: main.yaml\n"],
                ["b.yaml:1:10: the file includes itself: `main.yaml`, which includes `b.yaml`, which includes `main.yaml`"]
            ),
            ([:], ["main.yaml:2:10: `b.yaml`: can't open the configuration file: No such file or directory"]),
        ]
    )
    func problemsOfFiles(files: [String: String], messages: [String]) throws {
        var files = files
        files["main.yaml"] = "children: [{ name: a, program: { command: [a] } }]\ninclude: b.yaml\n"
        let problems = try Self.problems(files)
        #expect(problems.count == messages.count && zip(problems, messages).allSatisfy { $0.hasPrefix($1) }, "\(problems)")
    }

    @Test(
        "A directory that can't be read is a problem, since the children of its files would be missing; one that isn't there has none",
        arguments: [("loop/*.yaml", ELOOP), ("\(String(repeating: "n", count: 256))/*.yaml", ENAMETOOLONG), ("none/*.yaml", 0)]
    )
    func unreadable(pattern: String, failure: Int32) throws {
        let directory = try TemporaryDirectory()
        try #require(symlink("loop", directory.file("loop")) == 0)
        let file = directory.file("main.yaml")
        try Files.write("children: []\ninclude: [\"\(pattern)\"]\n", to: file)
        let reason = "can't be looked through: \(String(cString: strerror(failure))); expected directories that the daemon may read"
        var problems: [String] = []
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.read(path: file)
        } catch {
            problems = error.problems.map(\.description)
        }
        #expect(problems == (failure == 0 ? [] : ["\(file):2:11: `\(directory.file(pattern))` \(reason)"]))
    }

    @Test("A text in one line means the same: plain scalars stay plain, and texts are texts")
    func flowText() throws {
        let text = #"{ a: "5", b: 5, c: "x: y # \"q\" \\ \u0001 \u2028", d: ~, e: [true, "true", 027, plain text], "k\n": {} }"#
        let root = try #require(try YAMLComposer.compose(text, file: "f"))
        let again = try #require(try YAMLComposer.compose(root.flowText, file: "f"))
        var reader = ConfigurationReader(file: "f")
        #expect(reader.json(root) == reader.json(again) && again.flowText == root.flowText)
        #expect(again["e"]?.elements?[2].text == "027")
    }
}
