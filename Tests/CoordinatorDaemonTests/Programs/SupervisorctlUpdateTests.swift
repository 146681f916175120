import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("supervisorctl update", .enabled(if: access("/usr/bin/supervisorctl", X_OK) == 0, "needs supervisor"), .timeLimit(minutes: 2))
struct SupervisorctlUpdateTests {
    private static let tree = """
        children:
          - name: team
            children:
              - { name: changed, program: { command: [sleep, "1000"] } }
              - { name: beside, program: { command: [sleep, "1000"] } }
              - { name: stopped, program: { command: [sleep, "1000"] } }
              - { name: manual, program: { command: [sleep, "1000"] }, autostart: false }
        """
    private static let next =
        tree.replacing("name: changed, program: { command: [sleep, \"1000\"]", with: "name: changed, program: { command: [sleep, \"1001\"]")
        + "\n      - { name: fresh, program: { command: [sleep, '1000'] } }"
        + "\n      - { name: later, program: { command: [sleep, '1000'] }, autostart: false }\n"

    @Test("Of a group that has changed it starts what it has stopped, and what is new; what didn't run isn't started")
    func update() async throws {
        let directory = try TemporaryDirectory()
        let (socket, file, token) = (directory.file("console.sock"), directory.file("supervisorctl.conf"), directory.file("token"))
        try Files.write("0123456789-a-token\n", to: token)
        try Files.write("[supervisorctl]\nserverurl=unix://\(socket)\nusername=any\npassword=0123456789-a-token\n", to: file)
        func supervisorctl(_ arguments: String...) async throws -> String {
            try await BuiltProgram(path: "/usr/bin/supervisorctl").run(["-c", file] + arguments).output
        }
        try await RunningDaemon.with(Self.tree) { daemon in
            func running() async throws -> [String] {
                try await daemon.tree().children.flatMap(\.children).filter { $0.pid != nil }.map(\.key).sorted()
            }
            let console = ProcessSpecification(
                executable: BuiltProgram("coordinator-console").path,
                arguments: ["--listen", "unix:\(socket)", "--runtime-dir", daemon.run, "--supervisord", "--token-file", token],
                standardOutput: .null,
                standardError: .null
            )
            try await withChild(console) { _ in
                try await daemon.eventually("the console listens") { access(socket, F_OK) == 0 }
                try await daemon.eventually("the group runs") { try await running() == ["beside", "changed", "stopped"] }
                #expect(try await supervisorctl("stop", "team:stopped") == "team:stopped: stopped\n")
                let pid = try await daemon.node("/team/changed").pid
                try daemon.rewrite(Self.next)
                #expect(try await supervisorctl("update") == "team: stopped\nteam: updated process group\n")
                try await daemon.eventually("what ran, and what is new, runs") { try await running().contains("fresh") }
                #expect(try await running() == ["beside", "changed", "fresh"])
                #expect(try await daemon.node("/team/changed").pid != pid)
            }
        }
    }
}
