import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The restarts of programs", .timeLimit(minutes: 2))
struct ProgramRestartsTests {
    private static let supervisord = "/usr/bin/supervisord"

    /// What a program does, and what becomes of it under supervisord, whose words are these.
    private struct Behaviour {
        let name: String
        let script: String
        let state: String
        /// The keys of supervisord, and of our program, that it needs.
        var theirs = "autorestart=true"
        var ours = ""
        /// The number of its lives; nil: it grows.
        let lives: Int?

        static let all = [
            Behaviour(name: "stays", script: "exec sleep 1000", state: "RUNNING", lives: 1),
            Behaviour(name: "fails", script: "exit 1", state: "FATAL", lives: 3),
            Behaviour(name: "ends_at_once", script: "exit 0", state: "FATAL", lives: 3),
            Behaviour(name: "jobs", script: "sleep 1.2; exit 0", state: "RUNNING", lives: nil),
            Behaviour(name: "crashes_later", script: "sleep 1.2; exit 1", state: "RUNNING", lives: nil),
            Behaviour(
                name: "once",
                script: "exit 0",
                state: "EXITED",
                theirs: "autorestart=unexpected\nstartsecs=0",
                ours: "restart: on_failure, ",
                lives: 1
            ),
        ]
    }

    /// Counts the lives that a program has had by the lines that each wrote.
    private static func lives(_ directory: TemporaryDirectory, _ kind: String, _ name: String) -> Int {
        Files.text(of: directory.file("\(kind).\(name)"))?.count { $0 == "x" } ?? 0
    }

    @Test(
        "Programs live, are restarted and are given up as under supervisord, which runs beside",
        .enabled(if: access(supervisord, X_OK) == 0, "needs supervisor")
    )
    func besideSupervisord() async throws {
        let directory = try TemporaryDirectory()
        var theirs = "[supervisord]\nlogfile=DIR/supervisord.log\npidfile=DIR/supervisord.pid\n"
        theirs += "[unix_http_server]\nfile=DIR/s.sock\n[supervisorctl]\nserverurl=unix://DIR/s.sock\n"
        theirs += "[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n"
        var ours = "children:\n"
        for behaviour in Behaviour.all {
            let script = "echo x >> DIR/KIND.\(behaviour.name); \(behaviour.script)"
            theirs += "[program:\(behaviour.name)]\ncommand=sh -c \"\(script)\"\nstartretries=2\n\(behaviour.theirs)\n"
            ours += "  - { name: \(behaviour.name), \(behaviour.ours)program: { command: [sh, -c, '\(script)'] }, "
            ours += "restart_limits: { max_restarts: 2, counts: failed_starts } }\n"
        }
        let file = directory.file("supervisord.conf")
        try Files.write(theirs.replacing("DIR", with: directory.path).replacing("KIND", with: "theirs"), to: file)
        let original = ProcessSpecification(
            executable: Self.supervisord,
            arguments: ["--nodaemon", "--configuration", file],
            standardOutput: .null,
            standardError: .null
        )
        ours = ours.replacing("DIR", with: directory.path).replacing("KIND", with: "ours")
        try await withChild(original) { _ in
            try await RunningDaemon.with(ours) { daemon in
                for behaviour in Behaviour.all {
                    let name = behaviour.name
                    try await daemon.eventually("\(name) has had its lives under both") {
                        ["theirs", "ours"].allSatisfy { Self.lives(directory, $0, name) >= behaviour.lives ?? 4 }
                    }
                    try await daemon.eventually("\(name) is in the same state") {
                        let node = try await daemon.node("/\(name)")
                        let status = Transcript()
                        let command = ProcessSpecification(
                            executable: "/usr/bin/supervisorctl",
                            arguments: ["-c", file, "status", name],
                            standardOutput: status.destination,
                            standardError: status.destination
                        )
                        _ = try await withChild(command) { await $0.waitForExit() }
                        let isAlike =
                            switch behaviour.state {
                            case "RUNNING": node.state == "active"
                            case "FATAL": node.state == "failed"
                            default: node.state == "inactive"
                            }
                        let theirs = status.text.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                        // Most of a short life it's still starting.
                        return isAlike && (theirs == behaviour.state || theirs == "STARTING" && behaviour.state == "RUNNING")
                    }
                    guard let lives = behaviour.lives else { continue }
                    #expect(Self.lives(directory, "ours", name) == lives, "\(name)")
                    // On a busy machine supervisord takes one that has ended for one that has run for a second, and begins to count anew.
                    #expect(Self.lives(directory, "theirs", name) >= lives, "\(name)")
                }
            }
        }
    }

    @Test("A program isn't given up: it's failing, as all see; exit codes are final where the file says so, and delays are the file's")
    func failing() async throws {
        let tree = """
            children:
              - { name: down, program: { command: [sh, -c, "exit 1"] }, restart_limits: { backoff: { minimum: 1ms, maximum: 200ms } } }
              - { name: docker, program: { command: [sh, -c, "exit 125"] }, restart_limits: { backoff: { minimum: 1ms, maximum: 1ms } } }
              - { name: final, program: { command: [sh, -c, "exit 78"], final_exit_codes: [78] } }
              - { name: patient, program: { command: [sh, -c, "exit 1"] }, restart_limits: { first_delay: 1h } }
              - { name: steady, program: { command: [sh, -c, "exit 1"] }, restart_limits: { first_delay: 1ms, delay: 1h } }
              - { name: limited, program: { command: [sh, -c, "exit 1"] }, restart_limits: { max_restarts: 2, backoff: { minimum: 1ms } } }
              - { name: ended, program: { command: [sh, -c, "exit 3"] }, restart: never }
            """
        try await RunningDaemon.with(tree) { daemon in
            // More than the five restarts in a minute that a worker has.
            try await daemon.eventually("many lives") { try await daemon.node("/down").incarnation > 8 }
            try await daemon.eventually("it's failing") { try await daemon.node("/down").state == "failing" }
            try await daemon.eventually("all see it") {
                let status = try await daemon.control("status", "/down")
                return status.exitCode == 3 && status.output.contains("failing")
            }
            #expect(try await daemon.control("tree").output.contains("failing"))
            #expect(try await daemon.control("events", "--path", "/down").output.contains("failing"))
            try await daemon.eventually("an exit code that the file doesn't name isn't final") {
                try await daemon.node("/docker").incarnation > 8
            }
            #expect(try await daemon.node("/final").state == "failed")
            #expect(try await daemon.node("/final").incarnation == 1)
            try await daemon.eventually("the first delay") {
                let (first, second) = (try await daemon.node("/patient"), try await daemon.node("/steady"))
                return first.nextStartMilliseconds.map { $0 > 3_000_000 } == true && first.incarnation == 1
                    && second.nextStartMilliseconds.map { $0 > 3_000_000 } == true && second.incarnation == 2
            }
            try await daemon.eventually("an intensity is a limit") { try await daemon.node("/limited").state == "failed" }
            // Supervision forgets what isn't restarted; operators see its life all the same.
            try await daemon.eventually("it has ended") { try await daemon.node("/ended").lastExit == "exited with code 3" }
            #expect(try await daemon.node("/ended").incarnation == 1)
            #expect(try await daemon.tree().children.last?.incarnation == 1)
        }
    }
}
