import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("What operators see of their requests", .timeLimit(minutes: 3))
struct OperatorTests {
    static let tree = """
        children:
          - name: sleeper
            program: { command: [sleep, "1000"] }
          - name: once
            program: { command: [sh, -c, "test -e DIRECTORY/first && sleep 1000; touch DIRECTORY/first"] }
            restart: never
          - name: hopeless
            program: { command: [sh, -c, "exit 78"], final_exit_codes: [78] }
        """

    private static func with(_ log: Transcript? = nil, _ body: (RunningDaemon) async throws -> Void) async throws {
        let temporary = try TemporaryDirectory()
        let tree = tree.replacing("DIRECTORY", with: temporary.path)
        try await RunningDaemon.with(tree, standardError: log?.destination ?? .null, body)
        withExtendedLifetime(temporary) {}
    }

    @Test("A temporary child of the file keeps its place when it has ended, and can be started again")
    func temporary() async throws {
        try await Self.with { daemon in
            // Before it's started it's inactive, too.
            try await daemon.eventually("it has ended") {
                let node = try await daemon.node("/once")
                return node.state == "inactive" && node.lastExit != nil
            }
            #expect(try await daemon.tree().children.contains { $0.path == "/once" && $0.state == "inactive" })
            #expect(try await daemon.control("status", "/once").exitCode == 3)
            #expect(try await daemon.control("stop", "/once").exitCode == 0)
            #expect(try await daemon.control("start", "/once").exitCode == 0)
            #expect(try await daemon.node("/once").state == "active")
            #expect(try await daemon.tree().children.count { $0.path == "/once" } == 1)
            #expect(try await daemon.control("status", "/twice").exitCode == 4)
            #expect(try await daemon.control("start", "/twice").exitCode == 4)
        }
    }

    @Test("A permanent child of the file that finishes keeps its place, and can be started again")
    func finished() async throws {
        let tree = """
            children:
              - name: brief
                worker: { executable: FIXTURE, coordinator: MiddleCoordinator, configuration: { finishesAtOnce: true } }
            """
        try await RunningDaemon.with(tree) { daemon in
            for _ in 0..<2 {
                // Before its first start it's inactive too.
                try await daemon.eventually("it has finished, and is listed") {
                    try await daemon.tree().children.map { "\($0.state) \($0.lastExit ?? "")" } == ["inactive normal"]
                }
                #expect(try await daemon.control("status", "/brief").exitCode == 3)
                #expect(try await daemon.control("start", "/brief").output == "/brief: inactive (started, and has ended: normal)\n")
            }
        }
    }

    @Test("A temporary child that ends at once has been started, and its end is reported and kept", arguments: [0, 3])
    func quick(_ code: Int) async throws {
        let tree = """
            children:
              - name: quick
                program: { command: [sh, -c, "exit \(code)"] }
                restart: never
              - name: missing
                program: { command: [/nonexistent/program] }
                restart: never
            """
        try await RunningDaemon.with(tree) { daemon in
            for verb in ["start", "restart", "start"] {
                try await daemon.eventually("it has ended") { try await daemon.node("/quick").lastExit == "exited with code \(code)" }
                let status = try await daemon.control("status", "/quick")
                #expect(status.exitCode == 3)
                #expect(status.output.contains("exited with code \(code)"))
                let printed = try await daemon.control(verb, "/quick")
                #expect(printed.exitCode == (code == 0 ? 0 : 1))
                #expect(
                    code == 0
                        ? printed.output == "/quick: inactive (started, and has ended: exited with code 0)\n"
                        : printed.errors.contains("/quick was started and has ended at once: exited with code 3; look at its output")
                )
            }
            #expect(try await daemon.tree().children.first { $0.path == "/quick" }?.lastExit == "exited with code \(code)")
            #expect(try await daemon.control("start", "/missing").exitCode == 1)
            #expect(try await daemon.node("/missing").lastExit?.contains("/nonexistent/program") == true)
        }
    }

    @Test(
        "A tree of thousands of children is described",
        .disabled(if: Sanitizer.isOn, "the command waits for ten seconds, in which the sanitizer doesn't describe as many")
    )
    func large() async throws {
        let count = rounds(short: 5_000, all: 5_000, long: 15_000)
        let children = (0..<count).map { "- {name: a\($0), program: {command: [/x]}, restart: never}\n" }
        try await RunningDaemon.with("children:\n" + children.joined()) { daemon in
            // The command waits for ten seconds, in which a loaded machine may not even have started them all.
            var printed = try await daemon.control("tree")
            for _ in 0..<8 where printed.exitCode != 0 { printed = try await daemon.control("tree") }
            #expect(printed.exitCode == 0)
            #expect(printed.output.contains(" a\(count - 1) "))
            #expect(printed.output.split(separator: "\n").count >= count)
        }
    }

    @Test("kill reports the state after the kill, and never the killed process as active")
    func killed() async throws {
        try await Self.with { daemon in
            try await daemon.eventually("it's up") { try await daemon.node("/sleeper").state == "active" }
            let pid = try await daemon.runningPID(of: "/sleeper")
            let printed = try await daemon.control("kill", "/sleeper")
            #expect(printed.exitCode == 0)
            #expect(!printed.output.contains("pid \(pid)"))
            #expect(printed.output.hasPrefix("/sleeper: "))
        }
    }

    @Test("A child that isn't running can't be paused, and its next life isn't paused either")
    func pausedWhileStopped() async throws {
        try await Self.with { daemon in
            try await daemon.eventually("it's up") { try await daemon.node("/sleeper").state == "active" }
            #expect(try await daemon.control("stop", "/sleeper").exitCode == 0)
            #expect(try await daemon.control("pause", "/sleeper").exitCode == 3)
            #expect(try await daemon.control("start", "/sleeper").exitCode == 0)
            #expect(try await daemon.node("/sleeper").state == "active")
        }
    }

    @Test("The start and the restart of a child that has been given up and ends at once again are failures")
    func hopeless() async throws {
        try await Self.with { daemon in
            try await daemon.eventually("it's given up") { try await daemon.node("/hopeless").state == "failed" }
            // A machine that is slow enough lets it live for a second.
            for verb in ["start", "restart"] {
                try await daemon.eventually("its \(verb) is a failure") {
                    let printed = try await daemon.control(verb, "/hopeless")
                    return printed.exitCode == 1
                        && printed.errors.contains("/hopeless was started and has ended at once: exited with code 78")
                }
            }
        }
    }

    @Test("Errors about / name the command that ends the daemon")
    func root() async throws {
        try await Self.with { daemon in
            for verb in ["start", "stop", "restart", "kill", "pause", "resume"] {
                let printed = try await daemon.control(verb, "/")
                #expect(printed.exitCode == 64)
                #expect(printed.errors.contains("`coordinatorctl shutdown` ends the daemon"))
            }
        }
    }

    @Test("A runtime directory that was moved away is made anew, and the lock with it")
    func removedDirectory() async throws {
        let log = Transcript()
        try await Self.with(log) { daemon in
            try await daemon.eventually("it's up") { try await daemon.node("/sleeper").state == "active" }
            rename("\(daemon.directory)/run", "\(daemon.directory)/moved")
            try await daemon.eventually("it's back") { try await daemon.control("tree").exitCode == 0 }
            try await daemon.eventually("it's told") { log.text.contains("the runtime directory was damaged") }
            let second = try await daemon.startNext()
            #expect(await second.waitForExit() == .exited(code: 1), "the lock is back, too")
            #expect(try await daemon.control("shutdown").exitCode == 0)
        }
    }

    @Test("A control socket that was removed or replaced is made anew")
    func removedSocket() async throws {
        try await Self.with { daemon in
            let socket = "\(daemon.directory)/run/control.sock"
            for _ in 0..<2 {
                unlink(socket)
                // The daemon looks once a second, which may be at once.
                #expect([69, 0].contains(try await daemon.control("tree").exitCode))
                try await daemon.eventually("it's back") { try await daemon.control("tree").exitCode == 0 }
                #expect(Files.mode(of: socket) == 0o600)
            }
            unlink(socket)
            try Files.write("not a socket", to: socket)
            try await daemon.eventually("it's back") { try await daemon.control("tree").exitCode == 0 }
            #expect(try await daemon.control("shutdown").exitCode == 0)
            #expect(!Files.names(in: "\(daemon.directory)/run").contains("control.sock"))
        }
    }

    @Test("Both commands know their version, and the daemon takes a relative runtime directory")
    func command() async throws {
        #expect(try await RunningDaemon.coordinatord.run(["--version"]).output == "\(Release.version)\n")
        let temporary = try TemporaryDirectory()
        let file = temporary.file("tree.yaml")
        let worker = BuiltProgram("FixtureWorker").path
        let child = "{ executable: \(worker), coordinator: RootCoordinator, directory: / }"
        try Files.write("children: [{ name: app, worker: \(child) }]\n", to: file)
        let specification = ProcessSpecification(
            executable: RunningDaemon.coordinatord.path,
            arguments: ["--config", file, "--runtime-dir", "run"],
            workingDirectory: temporary.path,
            standardOutput: .null,
            standardError: .null
        )
        try await withChild(specification) { daemon in
            try await eventually("the worker, which has another working directory, has found its parent") {
                let client = try? await ControlClient.connect(runtimeDirectory: RuntimeDirectory(path: temporary.file("run")))
                guard let answer = try? await client?.call(.tree) else { return nil }
                return try ControlJSON.decode(TreeNode.self, from: answer).children.first?.state == "active"
            }
            _ = await daemon.terminate(grace: .patient(.seconds(10)))
        }
    }
}
