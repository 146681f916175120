import DaemonConfiguration
import Glibc
import TestSupport
import Testing

@Suite("Files that a configuration names")
struct ConfigurationFilesTests {
    private static func problems(_ text: String, checkingFiles: Bool = true) throws -> [String] {
        let temporary = try TemporaryDirectory()
        let file = temporary.file("c.yaml")
        try Files.write(text.replacing("HERE", with: temporary.path), to: file)
        try Files.write("#!/bin/sh\n", to: temporary.file("plain"))
        try Files.write("#!/bin/sh\n", to: temporary.file("program"), mode: 0o700)
        do throws(ConfigurationError) {
            _ = try DaemonConfiguration.load(path: file, checkingFiles: checkingFiles)
            return []
        } catch {
            return error.problems.map { "\($0.line):\($0.column): \($0.message.replacing(temporary.path, with: "HERE"))" }
        }
    }

    @Test("Files that don't exist or can't be executed are problems when files are checked")
    func missing() throws {
        let text = """
            children:
              - name: a
                worker: { executable: HERE/none, coordinator: A }
              - name: b
                worker: { executable: HERE/plain, coordinator: A, directory: HERE/nowhere }
              - name: c
                program: { command: [no-such-program-anywhere], environment: { PATH: /usr/bin } }
              - name: d
                program: { command: [HERE/program, x], directory: HERE }
              - name: e
                program: { command: [./program], directory: HERE }
              - name: f
                program: { command: [sh], directory: HERE/plain }
            """
        // Without the columns: the directory's name is as long as it is.
        let problems = try Self.problems(text).map { $0.split(separator: ":", maxSplits: 2)[2].dropFirst() }
        #expect(
            problems == [
                "there is no executable `HERE/none`: No such file or directory; expected the path of one",
                "`HERE/plain` can't be executed; mend it with `chmod +x HERE/plain`, or name another",
                "the directory `HERE/nowhere` can't be used: No such file or directory; expected one that is there",
                "there is no executable `no-such-program-anywhere` in PATH (/usr/bin); expected its name or its path",
                "`HERE/plain` isn't a directory that may be entered; expected one",
            ]
        )
        #expect(try Self.problems(text, checkingFiles: false) == [])
    }

    @Test("A path that only a shell would expand is always a problem")
    func shellWords() throws {
        let text = """
            children:
              - name: a
                worker: { executable: ~/bin/a, coordinator: A, directory: $HOME/a }
              - name: b
                program: { command: ["${HOME}/b", "~/c"] }
            """
        #expect(
            try Self.problems(text, checkingFiles: false) == [
                "3:27: `executable` is `~/bin/a`, and no shell replaces `~` here; expected the path written out",
                "3:63: `directory` is `$HOME/a`, and no shell replaces `$` here; expected the path written out",
                "5:26: the program of `command` is `${HOME}/b`, and no shell replaces `$` here; expected the path written out",
            ]
        )
    }

    @Test("A key that is too long for a path is a problem")
    func longKey() throws {
        let text = "children:\n  - { name: \(String(repeating: "k", count: 256)), program: { command: [sh] } }\n"
        #expect(try Self.problems(text) == ["2:13: `name` has 256 bytes; expected at most 255, for it becomes a part of a path"])
        #expect(try Self.problems(text.replacing("kk", with: "k")) == [])
    }

    @Test("A key that is given twice is reported where it's given again")
    func duplicateKey() throws {
        let text = "orphan_grace: 0s\n# children:\nchildren:\n  - name: a\n    program: { command: [sh] }\n    name: b\norphan_grace: 1s\n"
        let message = "is given more than once in one mapping; expected each key once"
        #expect(try Self.problems(text) == ["6:5: the key `name` \(message)"])
        #expect(try Self.problems(text.replacing("    name: b\n", with: "")) == ["6:1: the key `orphan_grace` \(message)"])
        #expect(try Self.problems("{children: [], \"children\": []}\n") == ["1:16: the key `children` \(message)"])
        #expect(try Self.problems("children: []\n\"\\e\": 1\n\"\\e\": 2\n") == ["3:1: the key `\\u{1B}` \(message)"])
    }

    @Test("A file of 15,000 children is read: what is written out is bounded by the file's size alone")
    func manyChildren() throws {
        let children = (0..<15_000).map { "  - { name: a\($0), program: { command: [sh] } }\n" }.joined()
        #expect(try DaemonConfiguration.parse(text: "children:\n" + children, file: "f").children.count == 15_000)
        // As many values as bytes can hold.
        let problems = try Self.problems("[" + String(repeating: "{a},", count: 200_000) + "]", checkingFiles: false)
        #expect(problems.count == 1 && problems[0].contains("expected a mapping"))
    }
}
