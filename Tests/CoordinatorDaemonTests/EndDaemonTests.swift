import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The end of a child that ends the daemon", .timeLimit(minutes: 2))
struct EndDaemonTests {
    /// A child whose end ends the daemon, or doesn't.
    struct Row: CustomTestStringConvertible {
        /// What the child does when the file `go` appears.
        let end: String
        /// The keys of the child beside its program.
        let keys: String
        /// The exit code of the daemon; nil: it goes on.
        let code: Int32?
        var isOneshot = false
        var testDescription: String { "\(end), \(keys)" }
    }

    private static let limits = "restart_limits: { max_restarts: 1, backoff: { minimum: 1ms, maximum: 1ms } }"

    static let rows = [
        Row(end: "exit 7", keys: "restart: never, on_exit: end_daemon", code: 7),
        Row(end: "exit 0", keys: "restart: on_failure, on_exit: end_daemon", code: 0),
        Row(end: "kill -9 $$", keys: "restart: never, on_exit: end_daemon", code: 137),
        Row(end: "exit 3", keys: "\(limits), on_failure: end_daemon", code: 3),
        Row(end: "exit 4", keys: "\(limits), on_exit: end_daemon", code: 4),
        Row(end: "exit 5", keys: "on_failure: end_daemon", code: 5, isOneshot: true),
        Row(end: "exit 0", keys: "restart: never, on_failure: end_daemon", code: nil),
        Row(end: "exit 0", keys: "on_failure: end_daemon", code: nil, isOneshot: true),
        Row(end: "exit 7", keys: "restart: never", code: nil),
    ]

    private static func tree(_ row: Row, in directory: String, isInGroup: Bool) -> String {
        let script = "while [ ! -e go ]; do sleep 0.02; done; \(row.end)"
        let kind = row.isOneshot ? "oneshot" : "program"
        let main = "{ name: main, \(kind): { command: [sh, -c, '\(script)'], directory: \(directory) }, \(row.keys) }"
        let other = "trap 'echo >> ended; exit 0' TERM; echo > trapped; while :; do sleep 0.02; done"
        return """
            children:
              - \(isInGroup ? "{ name: group, children: [\(main)] }" : main)
              - { name: other, program: { command: [sh, -c, "\(other)"], directory: \(directory) } }
            """
    }

    @Test("The daemon ends in order, with the child's exit code or 128 and its signal", arguments: rows)
    func ends(_ row: Row) async throws {
        let (directory, log) = (try TemporaryDirectory(), Transcript())
        let tree = Self.tree(row, in: directory.path, isInGroup: row.end == "exit 3")
        try await RunningDaemon.with(tree, standardError: log.destination) { daemon in
            try await daemon.eventually("both run") { Files.text(of: directory.file("trapped")) != nil }
            try Files.write("", to: directory.file("go"))
            guard let code = row.code else {
                try await daemon.eventually("it has ended") { try await daemon.states()["/main"] == "inactive" }
                // Its process has written its file before the daemon has noted that it runs.
                try await daemon.eventually("the other one goes on") { try await daemon.states()["/other"] == "active" }
                return
            }
            #expect(await daemon.process.waitForExit() == .exited(code: code))
            #expect(Files.text(of: directory.file("ended"))?.count == 1)
            #expect(log.text.split(separator: "\n").count { $0.contains("a child's end ends the daemon") } == 1)
        }
    }

    @Test("As process 1 the daemon ends with the child's exit code, and nothing is left", .enabled(if: geteuid() == 0))
    func process1() async throws {
        let directory = try TemporaryDirectory()
        let wrapper = "unshare --pid --fork --kill-child --mount-proc"
        for row in [Self.rows[0], Self.rows[2]] {
            for name in ["go", "trapped", "ended"] { Files.remove(directory.file(name)) }
            try await RunningDaemon.with(Self.tree(row, in: directory.path, isInGroup: false), wrapper: wrapper) { daemon in
                try await daemon.eventually("both run") { Files.text(of: directory.file("trapped")) != nil }
                try Files.write("", to: directory.file("go"))
                #expect(await daemon.process.waitForExit() == .exited(code: row.code ?? 0))
                #expect(Files.text(of: directory.file("ended"))?.count == 1)
            }
        }
    }

    @Test("A request to stop or restart the child isn't its end, and neither is that of its group")
    func requests() async throws {
        let keys = "program: { command: [sleep, '1000'] }, restart: never, on_exit: end_daemon"
        let tree = """
            children:
              - { name: a, \(keys) }
              - { name: g, children: [{ name: b, \(keys) }] }
            """
        try await RunningDaemon.with(tree) { daemon in
            _ = try await daemon.children(2)
            for command in [["restart", "/a"], ["stop", "/a"], ["start", "/a"], ["restart", "/g"], ["stop", "/g"], ["start", "/g"]] {
                let ended = try await daemon.control(command)
                #expect(ended.exitCode == 0, "\(command): \(ended)")
            }
            _ = try await daemon.children(2)
            #expect(try await daemon.control("kill", "/g/b").exitCode == 0)
            #expect(await daemon.process.waitForExit() == .exited(code: 137))
        }
    }
}
