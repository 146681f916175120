import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The process of a program", .timeLimit(minutes: 3))
struct ProcessSettingsTests {
    private static let isRoot = geteuid() == 0

    @Test("A program has the user, the permissions, the priority and the limits of the file", .enabled(if: isRoot, "needs root"))
    func attributes() async throws {
        let tree = try ProgramTree(
            "echo me $(id -u) $(id -G) $(umask) $(nice) $(ulimit -n) $(ulimit -Sc) $HOME $USER; exec sleep 1000",
            "user: nobody\numask: 027\nnice: 5\nlimits: { nofile: 100, core: { soft: 0, hard: 1MiB } }\ndirectory: /\non_daemon_loss: end"
        )
        let log = Transcript()
        try await tree.run(log) { daemon in
            try await daemon.eventually("its first line") { log.text.contains("[/p] me 65534 65534 0027 5 100 0 /nonexistent nobody\n") }
            let program = try #require(try await daemon.processes().first)
            // A change of the user disarms what kills a child with its parent, unless it's armed after it.
            try await daemon.kill(daemon.process)
            try await daemon.eventually("the program is gone with the daemon") { !program.isAlive }
        }
    }

    @Test("A limit that can't be set fails the start, and is named", .enabled(if: isRoot, "needs root"))
    func impossible() async throws {
        let tree = try ProgramTree("exec sleep 1000", "limits: { nofile: 2000000000 }", intensity: 1)
        try await tree.run { daemon in
            let node = try await daemon.program("given up") { $0.state == "failed" }
            #expect(node.lastExit?.contains("its limit nofile can't be set: Operation not permitted (EPERM)") == true, "\(node)")
        }
    }

    @Test("A daemon that isn't root's refuses a file that names another user, with code 77", .enabled(if: isRoot, "needs root"))
    func notRoot() async throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o777)
        let tree = "children:\n  - { name: p, program: { command: [sleep, '1000'], user: root } }\n"
        try Files.write(tree, to: directory.file("tree.yaml"), mode: 0o644)
        let error = Transcript()
        var specification = ProcessSpecification(
            executable: RunningDaemon.coordinatord.path,
            arguments: ["--config", directory.file("tree.yaml"), "--runtime-dir", directory.file("run")],
            workingDirectory: "/",
            standardError: error.destination,
            attributes: ProcessAttributes(user: "nobody")
        )
        specification.environment = ["PATH": "/usr/bin:/bin"]
        let status = try await withChild(specification) { await $0.waitForExit() }
        #expect(status == .exited(code: 77), "\(error.text)")
        #expect(error.text.contains("the child p runs as root, and only a daemon of root can start it"), "\(error.text)")
    }

    @Test("Files of variables are read at each start, and what the daemon has may be left out")
    func environment() async throws {
        let tree = try ProgramTree(
            "echo got $A $B ${HOME-none}; exec /bin/sleep 1000",
            "environment_files: [DIR/a, -DIR/none]\ninherit_environment: false\nenvironment: { B: given, PATH: /bin }"
        )
        try Files.write("A=one\nB=file\n", to: tree.directory.file("a"))
        let log = Transcript()
        try await tree.run(log) { daemon in
            try await daemon.eventually("its line") { log.text.contains("[/p] got one given none\n") }
            try Files.write("A=two\n", to: tree.directory.file("a"))
            #expect(try await daemon.control("restart", "/p").exitCode == 0)
            try await daemon.eventually("the new line") { log.text.contains("[/p] got two given none\n") }
            tree.remove("a")
            let restart = try await daemon.control("restart", "/p")
            #expect(restart.exitCode != 0)
            let node = try await daemon.program("its start fails") { $0.lastExit?.contains("No such file") == true }
            #expect(node.lastExit?.contains(tree.directory.file("a")) == true, "\(node)")
        }
    }

    @Test("The signal of the file asks a program to stop, and its exit codes are normal ends")
    func stop() async throws {
        let script = "trap \"echo by USR1; exit 7\" USR1; trap \"\" TERM; echo up; while :; do sleep 0.05; done"
        let tree = try ProgramTree(script, "stop_signal: USR1", child: "stop_timeout: 1m")
        let log = Transcript()
        try await tree.run(log) { daemon in
            try await daemon.eventually("it has its trap") { log.text.contains("[/p] up\n") }
            #expect(try await daemon.control("stop", "/p").exitCode == 0)
            try await daemon.eventually("its last words") { log.text.contains("[/p] by USR1\n") }
        }
    }

    @Test("A transient program isn't restarted after one of its normal exit codes, and is after another", arguments: [3, 4])
    func exitCodes(code: Int) async throws {
        let script = "test -e DIR/\(code) && exec sleep 1000; touch DIR/\(code); exit \(code)"
        let tree = try ProgramTree(script, "exit_codes: [3]", child: "restart: on_failure")
        try await tree.run { daemon in
            if code == 3 {
                let node = try await daemon.program("it has ended") { $0.state == "inactive" && $0.lastExit != nil }
                #expect(node.lastExit == "normal")
            } else {
                try await daemon.program("it's back") { $0.state == "active" && $0.restarts == 1 }
            }
        }
    }

    @Test("A program that ends within its start seconds has failed, whatever its exit code")
    func startSeconds() async throws {
        let tree = try ProgramTree("exit 0", "start_seconds: 30s", child: "restart: on_failure", intensity: 2)
        try await tree.run { daemon in
            let node = try await daemon.program("given up") { $0.state == "failed" }
            #expect(node.incarnation == 3)
            #expect(node.lastExit == "exited with code 0")
            let start = try await daemon.control("start", "/p")
            #expect(start.exitCode != 0)
        }
    }

    @Test("A program is starting until its start seconds are over, and can be stopped before")
    func stoppedEarly() async throws {
        let tree = try ProgramTree("exec sleep 1000", "start_seconds: 1h")
        try await tree.run { daemon in
            try await daemon.program("it runs") { $0.pid != nil }
            #expect(try await daemon.node("/p").state == "starting")
            #expect(try await daemon.control("stop", "/p").exitCode == 0)
            #expect(try await daemon.node("/p").state == "inactive")
        }
    }

    @Test("A program that is old enough is replaced, which is no failure")
    func recycling() async throws {
        let tree = try ProgramTree("exec sleep 1000", "recycle: { after: 200ms }", intensity: 1)
        try await tree.run { daemon in
            let node = try await daemon.program("many lives") { $0.incarnation >= 6 }
            #expect(node.restarts == 0)
        }
    }

    @Test("A worker has its limits and its files of variables, and is replaced by the rules of the file")
    func worker() async throws {
        let directory = try TemporaryDirectory()
        try Files.write("FROM_FILE=yes\n", to: directory.file("variables"))
        let tree = """
            children:
              - name: p
                worker:
                  executable: FIXTURE
                  coordinator: MiddleCoordinator
                  umask: 027
                  nice: 3
                  limits: { core: 0, nofile: 512 }
                  environment_files: [\(directory.file("variables"))]
                  recycle: { after: 5s }
            supervision: { max_restarts: 1, period: 60s }
            """
        try await RunningDaemon.with(tree) { daemon in
            let pid = try #require(try await daemon.program("it's ready") { $0.state == "active" }.pid)
            let limits = try #require(Files.text(of: "/proc/\(pid)/limits"))
            #expect(limits.split(separator: "\n").contains { $0.hasPrefix("Max open files") && $0.split(separator: " ").contains("512") })
            #expect(Files.text(of: "/proc/\(pid)/status")?.contains("Umask:\t0027\n") == true)
            #expect(Files.text(of: "/proc/\(pid)/environ")?.contains("FROM_FILE=yes\0") == true)
            let node = try await daemon.program("other lives") { $0.incarnation >= 2 && $0.state == "active" }
            #expect(node.restarts == 0)
        }
    }
}
