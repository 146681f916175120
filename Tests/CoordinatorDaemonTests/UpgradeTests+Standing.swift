import Control
import Processes
import TestSupport
import Testing

/// How children stand after an upgrade that had to wait, and those that wait themselves.
extension UpgradeTests {
    private static let sleeper = "program: { command: [sleep, '1000'] }"

    /// A program that needs some time to stop, one that runs once, and one that is started when another one is ready.
    private static let waitedFor = """
        children:
          - name: x
            program:
              command:
                - sh
                - -c
                - "trap 'echo > asked; until test -e go; do sleep 0.02; done; exit 0' TERM; echo > trapped; while :; do sleep 0.02; done"
              directory: DIRECTORY
            stop_timeout: 60s
          - name: once
            oneshot: { command: [sh, -c, "echo >> runs; until test -e end; do sleep 0.02; done; echo > ended"], directory: DIRECTORY }
          - name: slow
            program: { command: [sleep, '1000'], start_timeout: 60s, ready: { command: [test, -e, DIRECTORY/ready], interval: 20ms } }
            autostart: false
          - name: late
            program: { command: [sh, -c, "echo $$ > late; exec sleep 1000"], directory: DIRECTORY }
            requires: [slow]
            autostart: false
        """

    @Test("keeps what has been stopped, has ended and has begun while it waited: none is started, run or ended again")
    func changesMeanwhile() async throws {
        let directory = try TemporaryDirectory()
        func text(_ name: String) -> String? { Files.text(of: directory.file(name)) }
        func touch(_ name: String) throws { try Files.write("", to: directory.file(name)) }
        try await RunningDaemon.with(Self.waitedFor.replacing("DIRECTORY", with: directory.path)) { daemon in
            try await daemon.eventually("both run") { text("trapped") != nil && text("runs") != nil }
            async let stopped = daemon.control("stop", "/x")
            async let started = daemon.control("start", "/late")
            try await daemon.eventually("the stop and the start are under way") {
                let state = try await daemon.node("/slow").state
                return text("asked") != nil && state == "starting"
            }
            async let upgraded = daemon.upgrade("--wait", "60s")
            try await daemon.eventually("the upgrade waits") { Files.text(of: "\(daemon.run)/control.upgrade") != nil }
            try touch("end")
            try touch("ready")
            try await daemon.eventually("the one has ended, and the other has begun") {
                text("ended") != nil && text("late")?.isEmpty == false
            }
            try touch("go")
            let (stop, start, result) = try await (stopped, started, upgraded)
            #expect(stop.exitCode == 0 && start.exitCode == 0, "\(stop) \(start)")
            #expect(result.kept == ["/late", "/slow"] && !result.endedAsks)
            try await daemon.eventually("it goes on") { try await daemon.node("/late").state == "active" }
            #expect(try await daemon.states()["/x"] == "inactive" && text("runs") == "\n")
            #expect(try await daemon.node("/late").pid.map { "\($0)\n" } == text("late"))
        }
    }

    private static let waiting = """
        children:
          - name: group
            requires: { db: healthy }
            children:
              - { name: program, \(sleeper) }
              - { name: worker, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
              - { name: inner, children: [{ name: program, \(sleeper) }] }
          - name: db
            program: { command: [sleep, '1000'], health: { command: [test, -e, DIRECTORY/healthy], interval: 20ms, on_failure: report } }
        orphan_grace: 60s
        """

    @Test("keeps the programs and workers of a group that would wait for another child, and so does the daemon after a kill")
    func waitingGroup() async throws {
        let directory = try TemporaryDirectory()
        try Files.write("", to: directory.file("healthy"))
        try await RunningDaemon.with(Self.waiting.replacing("DIRECTORY", with: directory.path)) { daemon in
            func processes() async throws -> [Int32?] {
                var processes: [Int32?] = []
                for path in ["/group/program", "/group/worker", "/group/inner/program"] {
                    let node = try await daemon.node(path)
                    processes.append(node.state == "active" ? node.pid : nil)
                }
                return processes
            }
            try await daemon.eventually("all run") { try await !processes().contains(nil) }
            let before = try await processes()
            Files.remove(directory.file("healthy"))
            _ = try await daemon.upgrade()
            // At once: it doesn't wait for the health of the other one.
            #expect(try await processes() == before)
            let next = try await daemon.killAndReplace(daemon.process)
            try await daemon.eventually("they go on") { try await processes() == before }
            try await daemon.endLeavingNothing(next)
        }
    }

    /// A program that ends by itself, and whose `after_end` ends when it's told to.
    private static func ending() throws -> ProgramTree {
        let hook = "echo > DIR/ended; until test -e DIR/go; do sleep 0.02; done"
        return try ProgramTree(
            "echo >> DIR/runs",
            "hooks: { after_end: { command: [sh, -c, \"\(hook)\"], timeout: 5m } }",
            child: "restart: never"
        )
    }

    @Test("waits for the hook of a program that has ended by itself, and is refused after its time: the program isn't run again")
    func endingProgram() async throws {
        let tree = try Self.ending()
        try await tree.run { daemon in
            try await daemon.eventually("it has ended") { Files.text(of: tree.directory.file("ended")) != nil }
            let refused = try await daemon.control("upgrade", "--wait", "100ms")
            #expect(refused.exitCode == 1 && refused.errors.contains("/p") && refused.errors.contains("after_end"), "\(refused)")
            try tree.touch("go")
            _ = try await daemon.upgrade("--wait", "60s")
            #expect(try await daemon.states()["/p"] != "active" && Files.text(of: tree.directory.file("runs")) == "\n")
        }
    }

    @Test("applies the file for a SIGHUP that has come during the upgrade")
    func reload() async throws {
        let tree = try Self.ending()
        try await tree.run { daemon in
            try await daemon.eventually("it has ended") { Files.text(of: tree.directory.file("ended")) != nil }
            async let upgraded = daemon.upgrade("--wait", "60s")
            try await daemon.eventually("the upgrade waits") { Files.text(of: "\(daemon.run)/control.upgrade") != nil }
            let added = "  - name: added\n    program: { command: [sleep, '1000'] }\nsupervision:"
            try daemon.rewrite(tree.text.replacing("supervision:", with: added))
            try daemon.process.send(.hangup)
            try tree.touch("go")
            _ = try await upgraded
            try await daemon.eventually("it's applied") { try await daemon.node("/added").state == "active" }
        }
    }

    @Test("keeps a worker paused that can't outlive the daemon, when it's started again, also after an upgrade that has failed")
    func pausedWithoutGrace() async throws {
        let text = """
            children:
              - { name: w, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
            orphan_grace: 0s
            """
        try await RunningDaemon.with(text) { daemon in
            try await daemon.eventually("it runs") { try await daemon.node("/w").state == "active" }
            try await daemon.call(.pause(path: "/w"))
            let before = try await daemon.node("/w").pid
            // It passes all examinations, and is gone when it's to be run.
            let script = "\(daemon.directory)/once"
            try Files.write(
                "#!/bin/sh\n[ $1 = --rehearse ] && rm -f '\(script)'\nexec \(RunningDaemon.coordinatord.path) \"$@\"\n",
                to: script,
                mode: 0o700
            )
            let refused = try await daemon.control("upgrade", "--executable", script)
            #expect(refused.exitCode == 1 && refused.errors.contains("goes on as before"), "\(refused)")
            let between = try await daemon.node("/w")
            #expect(between.state == "paused" && between.pid != before)
            #expect(try await daemon.upgrade().restarted == ["/w"])
            try await daemon.eventually("it's paused") {
                let node = try await daemon.node("/w")
                return node.state == "paused" && node.pid != between.pid
            }
        }
    }

    @Test("writes what a child has begun of a line as a part, and the rest behind it")
    func begunLine() async throws {
        let script = "printf \"begun \"; echo > DIR/begun; until test -e DIR/go; do sleep 0.02; done; echo ended; exec sleep 1000"
        let tree = try ProgramTree(script, "", child: "logging: { file: DIR/log }")
        func lines() -> [Substring] { Files.text(of: tree.directory.file("log"))?.split(separator: "\n") ?? [] }
        try await tree.run { daemon in
            try await daemon.eventually("it has begun a line") { Files.text(of: tree.directory.file("begun")) != nil }
            _ = try await daemon.upgrade()
            #expect(lines().count == 1)
            try tree.touch("go")
            try await daemon.eventually("the rest is written") { lines().count == 2 }
            #expect(lines().first?.contains(" P:") == true && lines().first?.hasSuffix(" begun ") == true, "\(lines())")
            #expect(lines().last?.contains(" F:") == true && lines().last?.hasSuffix(" ended") == true, "\(lines())")
        }
    }
}
