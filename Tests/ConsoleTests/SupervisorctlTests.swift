import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("supervisorctl at the console", .enabled(if: Programs.have("supervisorctl"), "needs supervisor"), .timeLimit(minutes: 3))
struct SupervisorctlTests {
    private static let children = """
          - { name: calm, program: { command: [sh, -c, "echo words; exec sleep 1000"] } }
          - { name: missing, program: { command: [/none/such] }, restart: never }
          - { name: once, program: { command: [sh, -c, "exit 3"] }, restart: never }
          - name: team
            children:
              - { name: one, program: { command: [sleep, "1000"] } }
              - { name: two, program: { command: [sleep, "1000"] } }
        """

    /// Runs Debian's `supervisorctl` at a console.
    private func supervisorctl(
        _ console: RunningConsole,
        password: String = RunningConsole.token,
        _ arguments: String...
    ) async throws -> BuiltProgram.Ended {
        try await Programs.shell(command(console, password, arguments.joined(separator: " ")))
    }

    private func command(_ console: RunningConsole, _ password: String, _ arguments: String) throws -> String {
        let file = "\(console.directory)/supervisorctl.conf"
        let section = "[supervisorctl]\nserverurl=http://127.0.0.1:\(console.port)\nusername=any\n"
        try Files.write(section + (password.isEmpty ? "" : "password=\(password)\n"), to: file)
        return "exec supervisorctl -c '\(file)' \(arguments)"
    }

    /// Runs it as long as the body, which sees what it writes.
    private func following(_ console: RunningConsole, _ arguments: String, _ body: (Transcript) async throws -> Void) async throws {
        let output = Transcript()
        let specification = ProcessSpecification(
            executable: "/bin/bash",
            arguments: ["-c", try command(console, RunningConsole.token, arguments)],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/tmp", "PYTHONUNBUFFERED": "1"],
            standardOutput: output.destination,
            standardError: .sameAsOutput
        )
        try await withChild(specification) { _ in try await body(output) }
    }

    @Test("It shows, starts, stops, signals and reads the programs")
    func commands() async throws {
        try await RunningConsole.with(Self.children, options: ["--supervisord"]) { console in
            var status = ""
            try await eventually("all are as they will be") {
                status = try await supervisorctl(console, "status").output
                return status.components(" RUNNING ") == 3 && status.components(" EXITED ") == 1 && status.components(" FATAL ") == 1
            }
            // The group itself and the console are none of the processes.
            #expect(status.split(separator: "\n").map { $0.prefix { $0 != " " } } == ["calm", "missing", "once", "team:one", "team:two"])
            #expect(status.contains(try Regex("calm +RUNNING   pid [0-9]+, uptime 0:00:[0-9]{2}\n")), "\(status)")
            #expect(status.contains(try Regex("once +EXITED    [A-Z][a-z]{2} [0-9]{2} [0-9]{2}:[0-9]{2} [AP]M\n")), "\(status)")

            #expect(try await supervisorctl(console, "pid").output == "\(try await console.tree().pid ?? 0)\n")
            let before = try await console.node("/calm").pid
            #expect(try await supervisorctl(console, "pid calm").output == "\(before ?? 0)\n")
            #expect(try await supervisorctl(console, "version").output == "\(Release.version)\n")
            #expect(try await supervisorctl(console, "tail calm").output == "words\n\n")
            #expect(try await supervisorctl(console, "tail -3 calm").output == "ds\n\n")
            #expect(try await supervisorctl(console, "tail none").output == "none: ERROR (no such process name)\n")

            #expect(try await supervisorctl(console, "start calm").output == "calm: ERROR (already started)\n")
            #expect(try await supervisorctl(console, "restart calm").output == "calm: stopped\ncalm: started\n")
            let after = try await console.node("/calm").pid
            #expect(after != nil && after != before)
            #expect(try await supervisorctl(console, "stop calm").output == "calm: stopped\n")
            #expect(try await console.node("/calm").pid == nil)
            let stopped = try await supervisorctl(console, "status calm")
            #expect(stopped.output.contains("STOPPED") && stopped.exitCode == 3, "\(stopped.output)")
            #expect(try await supervisorctl(console, "stop calm").output == "calm: ERROR (not running)\n")
            #expect(try await supervisorctl(console, "start missing").output == "missing: ERROR (spawn error)\n")
            #expect(try await supervisorctl(console, "start once").output == "once: ERROR (abnormal termination)\n")
            #expect(try await supervisorctl(console, "start none").output == "none: ERROR (no such process)\n")
            #expect(try await supervisorctl(console, "stop none:*").output == "none: ERROR (no such group)\n")

            #expect(try await supervisorctl(console, "stop team:*").output == "team:one: stopped\nteam:two: stopped\n")
            #expect(try await supervisorctl(console, "start team:*").output == "team:one: started\nteam:two: started\n")
            let one = try await console.node("/team/one").incarnation
            #expect(try await supervisorctl(console, "signal KILL team:one").output == "team:one: signalled\n")
            try await eventually("its supervisor has restarted it") { try await console.node("/team/one").incarnation > one }
            #expect(try await supervisorctl(console, "signal NONE team:one").output == "team:one: ERROR (bad signal name)\n")
            try await eventually("it runs") { try await console.node("/team/one").state == "active" }
            #expect(try await supervisorctl(console, "stop all").output == "team:one: stopped\nteam:two: stopped\n")
            #expect(try await console.node("/console").state == "active")
        }
    }

    @Test("It rereads the file and updates the tree, and what has no counterpart is told so")
    func configuration() async throws {
        // The daemon doesn't apply a file whose programs aren't there.
        let children = Self.children.replacing("[/none/such]", with: "[sh, -c, \"exit 4\"]")
        try await RunningConsole.with(children, options: ["--supervisord"]) { console in
            try await eventually("it runs") { try await console.node("/team/two").state == "active" }
            func ctl(_ arguments: String) async throws -> String { try await supervisorctl(console, arguments).output }
            #expect(try await ctl("reread") == "No config updates to processes\n")
            #expect(try await ctl("update") == "")
            let avail = try await ctl("avail")
            #expect(avail.contains(try Regex("team:one +in use +auto +999:999\n")) && avail.components(" in use ") == 5, "\(avail)")
            #expect(try await ctl("add calm") == "ERROR: process group already active\n")
            #expect(try await ctl("add none") == "ERROR: no such process/group: none\n")
            #expect(try await ctl("remove calm") == "ERROR: process/group still running: calm\n")
            #expect(try await ctl("remove none") == "ERROR: no such process/group: none\n")
            #expect(try await ctl("remove missing").contains("the daemon's file lists missing"))

            let (calm, two) = (try await console.node("/calm").pid, try await console.node("/team/two").pid)
            try console.change { text in
                text.replacing("name: missing", with: "name: fresh").replacing("exit 4", with: "exec sleep 1000")
                    .replacing("echo words;", with: "echo others;")
            }
            let differences = "calm: changed\nfresh: available\nmissing: disappeared\n"
            for _ in 1...2 { #expect(try await ctl("reread") == differences) }
            // Who asks isn't known, and values quote the file.
            let shown = try await console.get("/api/v1/config-diff").body
            #expect(shown.contains("program.command") && !shown.contains("echo others") && !shown.contains("values"), "\(shown)")
            #expect(try await ctl("avail").contains(try Regex("fresh +avail +auto")))
            #expect(try await console.node("/calm").pid == calm)
            let updated = try await ctl("update")
            let lines = [
                "missing: stopped", "missing: removed process group", "calm: stopped", "calm: updated process group",
                "fresh: added process group",
            ]
            #expect(updated == lines.map { "\($0)\n" }.joined(), "\(updated)")
            #expect(try await ctl("status").split(separator: "\n").map { $0.prefix { $0 != " " } }.contains("fresh"))
            #expect(try await ctl("status calm").contains("RUNNING"))
            #expect(try await console.node("/calm").pid != calm)
            #expect(try await console.node("/team/two").pid == two)
            #expect(try await ctl("reread") == "No config updates to processes\n")
            try console.change { $0.replacing("name: fresh", with: "sesame: fresh") }
            let refused = [try await ctl("reread"), try await console.get("/api/v1/config-diff").body]
            #expect(refused[0].hasPrefix("ERROR: CANT_REREAD: ") && refused[1].contains("badConfiguration"), "\(refused)")
            // Problems quote it, too.
            #expect(!refused.contains { $0.contains("sesame") }, "\(refused)")
            try console.change { $0.replacing("sesame: fresh", with: "key: fresh") }

            #expect(try await ctl("clear calm") == "calm: ERROR (failed)\n")
            #expect(try await ctl("clear none") == "none: ERROR (no such process)\n")
            #expect(try await ctl("clear all").components("ERROR (failed)") == 5)
            #expect(try await ctl("maintail") == "supervisord: ERROR (no log file)\n")
            #expect(try await ctl("reload").contains("`supervisorctl update` applies its file"))
            // Its thread that reads the log may outlive the end of its input, as it does with supervisord.
            let input = "\(console.directory)/input"
            try #require(mkfifo(input, 0o600) == 0)
            try await following(console, "fg calm < '\(input)'") { output in
                let writer = open(input, O_RDWR | O_CLOEXEC)
                try await eventually("the log is shown: \(output.text)") { output.text.contains("others\n") }
                #expect(write(writer, "word\n", 5) == 5 && close(writer) == 0)
                try await eventually("it has ended: \(output.text)") {
                    output.text.contains("Exiting foreground") && output.text.contains("programs have no standard input")
                }
            }
            #expect(try await ctl("shutdown") == "Shut down\n")
            try await eventually("the daemon has ended") { !console.isAlive }
        }
    }

    @Test("tail -f shows what a process writes as it writes it, and leaves nothing behind when its client goes")
    func follow() async throws {
        let children = """
              - name: team
                children:
                  - name: chatty
                    program: { command: [sh, -c, "while sleep 0.1; do echo next; echo aside >&2; done"] }
                    logging: { standard_error: separate }
                  - { name: quiet, program: { command: [sh, -c, "echo only; exec sleep 1000"] } }
            """
        try await RunningConsole.with(children, options: ["--supervisord"]) { console in
            try await eventually("it runs") { try await console.node("/team/quiet").state == "active" }
            for (stream, word, other) in [("", "next\n", "aside"), (" stderr", "aside\n", "next")] {
                try await following(console, "tail -f team:chatty\(stream)") { output in
                    try await eventually("it's followed: \(output.text)") { output.text.components(word) >= 5 }
                    #expect(output.text.hasPrefix("==> Press Ctrl-C to exit <=="), "\(output.text)")
                    #expect(!output.text.contains(other), "\(output.text)")
                }
            }
            let unknown = try await supervisorctl(console, "tail -f nothing")
            #expect(unknown.output.contains("404") || unknown.errors.contains("404"), "\(unknown)")

            // Sixteen at a time, of a process that writes nothing more: those that have gone make room for others.
            let clients = """
                import socket
                clients = [socket.create_connection(('127.0.0.1', \(console.port))) for _ in range(20)]
                for client in clients: client.sendall(b'GET /logtail/team:quiet HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')
                for client in clients: print(client.recv(12).decode()[-3:])
                """
            for _ in 1...3 {
                try await eventually("those that have gone have made room") {
                    let codes = try await Programs.shell("python3 -c \"\(clients)\"").output.split(separator: "\n")
                    return codes.count { $0 == "200" } == 16 && codes.count { $0 == "429" } == 4
                }
            }

            // A client that stays doesn't keep the console from ending by itself.
            try await following(console, "tail -f team:quiet") { output in
                try await eventually("it's followed: \(output.text)") { output.text.contains("only\n") }
                _ = try await console.control("restart", "/console")
                #expect(try await console.node("/console").lastExit == "exited with code 0")
            }
        }
    }

    @Test("A change needs the token as the password, and a console without one changes nothing")
    func safety() async throws {
        try await RunningConsole.with(Self.children, options: ["--supervisord"]) { console in
            try await eventually("it runs") { try await console.node("/calm").state == "active" }
            #expect(try await supervisorctl(console, password: "wrong", "stop calm").output.hasPrefix("Server requires authentication\n"))
            #expect(try await supervisorctl(console, password: "", "stop calm").output.hasPrefix("Server requires authentication\n"))
            let call =
                "<methodCall><methodName>supervisor.stopProcess</methodName><params><param><value>calm</value></param></params></methodCall>"
            let several = """
                <methodCall><methodName>system.multicall</methodName><params><param><value><array><data><value><struct><member>
                <name>methodName</name><value>supervisor.stopAllProcesses</value></member></struct></value></data></array></value></param></params>
                </methodCall>
                """
            let xml = ["Content-Type": "text/xml"]
            #expect(try await console.post("/RPC2", call, headers: xml, token: nil).status == 401)
            #expect(try await console.post("/RPC2", several, headers: xml, token: nil).status == 401)
            #expect(try await console.post("/RPC2", call, headers: ["Content-Type": "text/plain"], token: nil).status == 415)
            #expect(try await console.post("/RPC2", call, headers: xml.merging(["Origin": "http://evil.example"]) { $1 }).status == 403)
            #expect(try await console.post("/RPC2", call, headers: xml.merging(["Host": "evil.example"]) { $1 }).status == 421)
            #expect(try await console.post("/RPC2", "words", headers: xml).status == 400)
            #expect(try await console.get("/RPC2").status == 405)
            let unknown = try await console.post("/RPC2", call.replacing("stopProcess", with: "melt"), headers: xml, token: nil)
            #expect(unknown.status == 200 && unknown.body.contains("<int>1</int>") && unknown.body.contains("UNKNOWN_METHOD"))
            #expect(try await console.node("/calm").state == "active")
            let good = several.replacing("stopAllProcesses", with: "getState")
            let state = try await console.post("/RPC2", good, headers: xml, token: nil)
            #expect(state.status == 200 && state.body.contains("<name>statename</name><value><string>RUNNING</string>"), "\(state.body)")
        }
        try await RunningConsole.with(Self.children, isReadOnly: true, options: ["--supervisord"]) { console in
            let (stop, status) = (try await supervisorctl(console, "stop calm"), try await supervisorctl(console, "status"))
            #expect(stop.output.contains("403 Forbidden") && status.output.contains("calm"), "\(stop.output)\(status.output)")
        }
        try await RunningConsole.with(Self.children) { console in
            let answer = try await console.post("/RPC2", "", headers: ["Content-Type": "text/xml"])
            #expect(answer.status == 404)
        }
    }
}

extension String {
    /// The number of times that a text occurs.
    fileprivate func components(_ text: String) -> Int { ranges(of: text).count }
}
