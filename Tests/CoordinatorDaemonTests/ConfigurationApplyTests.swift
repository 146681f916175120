import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("Changes of a running daemon's configuration", .timeLimit(minutes: 5))
struct ConfigurationApplyTests {
    private static let tree = """
        children:
          - { name: same, program: { command: [sleep, "1000"] } }
          - { name: old, program: { command: [sleep, "1000"] } }
          - { name: other, program: { command: [sleep, "1000"] }, restart: on_failure }
          - { name: limited, program: { command: [sleep, "1000"] } }
        """
    private static let next = """
        children:
          - { name: new, program: { command: [sleep, "1001"] } }
          - { name: same, program: { command: [sleep, "1000"] } }
          - { name: other, program: { command: [sleep, "1002"] }, restart: on_failure }
          - { name: limited, program: { command: [sleep, "1000"] }, restart: never, stop_timeout: 1s, restart_limits: { max_restarts: 1 } }
        orphan_grace: 1s
        """
    private static let plan = """
        ~ /: orphan_grace (with an upgrade or the next start of the daemon)
            orphan_grace: 10s → 1s  at FILE:6:1
        + /new
            at FILE:2:5
        ~ /other: program.command (restart)
            program.command: [sleep, 1000] → [sleep, 1002]  at FILE:4:31
        ~ /limited: restart, stop_timeout, restart_limits (no restart)
            restart: always → never  at FILE:5:61
            stop_timeout: 5s → 1s  at FILE:5:77
            restart_limits: none → { max_restarts: 1 }  at FILE:5:95
        - /old

        """

    @Test("The plan is shown, and carried out: only what has changed is touched")
    func apply() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.children(4)
            let pids = try await daemon.pids()
            #expect(try await daemon.control("config", "diff").output == "nothing to change: 4 children are as the file says\n")
            try daemon.rewrite(Self.next)
            let plan = Self.plan.replacing("FILE", with: "\(daemon.directory)/tree.yaml")
            let toBe = "1 to be started, 1 to be stopped, 1 to be restarted, 1 to be changed without a restart, 1 unchanged\n"
            for arguments in [["config", "diff"], ["config", "apply", "--dry-run"], ["config", "diff", "\(daemon.directory)/tree.yaml"]] {
                #expect(try await daemon.control(arguments) == .init(exitCode: 0, output: plan + toBe))
            }
            #expect(try await daemon.processes() == before)
            let done = "1 started, 1 stopped, 1 restarted, 1 changed without a restart, 1 unchanged\n"
            #expect(try await daemon.control("config", "apply") == .init(exitCode: 0, output: plan + done))
            let now = try await daemon.pids()
            #expect(now.keys.sorted() == ["/limited", "/new", "/other", "/same"])
            #expect(now["/same"] == pids["/same"] && now["/limited"] == pids["/limited"] && now["/other"] != pids["/other"])
            #expect(before.filter { $0.processID == pids["/old"] || $0.processID == pids["/other"] }.filter(\.isAlive).isEmpty)
            #expect(try await daemon.tree().children.map(\.key) == ["new", "same", "other", "limited"])
            // What only the next daemon takes still differs.
            let left = "~ /: orphan_grace (with an upgrade or the next start of the daemon)\n"
            #expect(try await daemon.control("config", "diff").output.hasPrefix(left))
            try daemon.rewrite(Self.next.replacing("orphan_grace: 1s", with: ""))
            let json = try await daemon.control("--json", "config", "apply")
            #expect(
                json.output
                    == #"{"applied":true,"changes":[],"file":"\#(daemon.directory)/tree.yaml","reordered":[],"unchanged":4}"# + "\n"
            )
            #expect(try await daemon.control("events").output.contains("  configuration  \(daemon.directory)/tree.yaml: "))
            // The life that began as permanent ends as a temporary one.
            kill(try #require(now["/limited"]), SIGKILL)
            try await daemon.eventually("it isn't restarted") { try await daemon.node("/limited").state == "inactive" }
            #expect(try await daemon.control("start", "/limited").exitCode == 0)
        }
    }

    @Test("A file with a problem, or with executables that aren't there, changes nothing")
    func badFiles() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            let before = try await daemon.children(4)
            let file = "\(daemon.directory)/tree.yaml"
            for (text, problem) in [
                ("children: [{ name: new, program: { command: [sleep, '1'] } }, { name: a/b }]", "`name` is `a/b`"),
                ("children: [{ name: new, program: { command: [/nowhere/x] } }]", "there is no executable `/nowhere/x`"),
                ("children: [", "not valid YAML"),
            ] {
                try daemon.rewrite(text)
                for command in ["diff", "apply"] {
                    let ended = try await daemon.control("config", command)
                    #expect(ended.exitCode == 78 && ended.output == "")
                    #expect(ended.errors.hasPrefix("coordinatorctl: \(file):") && ended.errors.contains(problem), "\(ended.errors)")
                }
            }
            #expect(try await daemon.control("config", "apply", "/nowhere/file").exitCode == 78)
            #expect(try await daemon.processes() == before)
            #expect(try await daemon.tree().children.map(\.key) == ["same", "old", "other", "limited"])
        }
    }

    @Test("What is missing already keeps no other change and no upgrade from being made; what a change would bring does")
    func missingFiles() async throws {
        let directory = try TemporaryDirectory()
        let program = directory.file("program")
        try Files.write("#!/bin/sh\nexec sleep 1000\n", to: program, mode: 0o755)
        func tree(_ rest: String) -> String {
            let late = "{ name: late, program: { command: [sleep, '1000'], directory: /nowhere } }"
            return "children: [\(late), { name: gone, program: { command: [\(program)] } }, \(rest)]"
        }
        try await RunningDaemon.with(tree("{ name: other, program: { command: [sleep, '1000'] } }")) { daemon in
            try await daemon.eventually("the others run") { try await daemon.states().values.count { $0 == "active" } == 2 }
            Files.remove(program)
            let pid = try await daemon.node("/gone").pid
            for settings in ["stop_timeout: 3s, ", "stop_timeout: 4s, "] {
                try daemon.rewrite(tree("{ name: other, \(settings)program: { command: [sleep, '1000'] } }"))
                let applied = try await daemon.control("config", "apply")
                #expect(applied.exitCode == 0 && applied.output.contains("/other: stop_timeout"), "\(applied)")
                _ = try await daemon.upgrade()
            }
            #expect(try await daemon.node("/gone").pid == pid)
            try daemon.rewrite(tree("{ name: other, program: { command: [/nowhere/x] } }"))
            let refused = try await daemon.control("config", "apply")
            #expect(refused.exitCode == 78 && refused.errors.contains("there is no executable `/nowhere/x`"), "\(refused)")
            let file = "\(daemon.directory)/tree.yaml"
            #expect(try await RunningDaemon.coordinatord.run(["--check-config", file]).exitCode == 78)
            #expect(try await RunningDaemon.coordinatord.run(["--check-config", file, "--syntax-only"]).exitCode == 0)
            #expect(try await daemon.control("config", "check", file, "--syntax-only").exitCode == 0)
            #expect(try await RunningDaemon.coordinatord.run(["--config", file, "--syntax-only"]).exitCode == 64)
        }
    }

    @Test("What was stopped stays stopped, what was given up is started again, and a failure is reported with the others made")
    func statesAndFailures() async throws {
        let tree = """
            children:
              - { name: stopped, program: { command: [sleep, "1000"] } }
              - { name: failing, program: { command: [sh, -c, "exit 1"] } }
              - { name: broken, program: { command: [DIRECTORY/broken] } }
              - { name: once, program: { command: ["true"] }, restart: never }
            supervision: { max_restarts: 1, backoff: { minimum: 1ms, maximum: 1ms } }
            """
        let directory = try TemporaryDirectory()
        // A script whose interpreter isn't there can be found, and can't be run.
        try Files.write("#!/nowhere\n", to: directory.file("broken"), mode: 0o700)
        let file = tree.replacing("DIRECTORY", with: directory.path)
        try await RunningDaemon.with(file) { daemon in
            try await daemon.eventually("they have failed") {
                let states = try await daemon.states()
                return states["/failing"] == "failed" && states["/broken"] == "failed" && states["/once"] == "inactive"
            }
            #expect(try await daemon.control("stop", "/stopped").exitCode == 0)
            let next = file.replacing("\"1000\"", with: "\"1001\"").replacing("exit 1", with: "exec sleep 1000")
                .replacing("/broken]", with: "/broken, again]").replacing("\"true\"", with: "\"true\", again")
            try daemon.rewrite(next)
            let applied = try await daemon.control("config", "apply")
            #expect(applied.exitCode == 1)
            #expect(applied.output.contains("~ /broken: program.command (restart): failed: "), "\(applied.output)")
            #expect(applied.output.hasSuffix("3 restarted, 1 failed, 0 unchanged\n"), "\(applied.output)")
            let states = try await daemon.states()
            #expect(states == ["/stopped": "inactive", "/failing": "active", "/broken": "failed", "/once": "inactive"])
            #expect(try await daemon.control("start", "/stopped").exitCode == 0)
            let pid = try await daemon.runningPID(of: "/stopped")
            #expect(Files.text(of: "/proc/\(pid)/cmdline") == "sleep\01001\0")
        }
    }

    @Test("Two files that are applied at the same time are applied one after the other")
    func atTheSameTime() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            _ = try await daemon.children(4)
            let files = try (0..<4).map { number in
                let file = "\(daemon.directory)/file\(number).yaml"
                let children = (0..<5).map { "  - { name: c\(number * 3 + $0), program: { command: [sleep, \"\(number + 1000)\"] } }\n" }
                try Files.write("children:\n" + children.joined(), to: file)
                return file
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for file in files {
                    group.addTask {
                        let result = try await daemon.call(.configurationApplication(file: file))
                        let changes = try ControlJSON.decode(ConfigurationChanges.self, from: result)
                        #expect(changes.failureCount == 0)
                    }
                }
                try await group.waitForAll()
            }
            // One of them was the last, and all that runs is its.
            let keys = try await daemon.tree().children.filter { $0.state == "active" }.map(\.key)
            #expect((0..<4).contains { number in keys == (0..<5).map { "c\(number * 3 + $0)" } }, "\(keys)")
            // A program has no arguments yet in the moment in which it takes its process over.
            try await daemon.eventually("all have the same arguments") {
                Set(try await daemon.pids().values.map { Files.text(of: "/proc/\($0)/cmdline") }).count == 1
            }
        }
    }

    @Test("Children are stopped in the order of the file also when it was changed")
    func order() async throws {
        let directory = try TemporaryDirectory()
        func child(_ key: String, after other: String) -> String {
            let script = "trap 'echo \(key) >> stops; exit 0' TERM; echo > started-\(key); while :; do sleep 0.02; done"
            return "  - { name: \(key), program: { command: [sh, -c, \"\(script)\"], directory: \(directory.path) }, after: [\(other)] }\n"
        }
        try await RunningDaemon.with("children:\n" + child("b", after: "") + child("a", after: "b")) { daemon in
            _ = try await daemon.children(2)
            let pids = try await daemon.pids()
            try daemon.rewrite("children:\n" + child("a", after: "") + child("c", after: "a") + child("b", after: "c"))
            let applied = try await daemon.control("config", "apply")
            #expect(applied.exitCode == 0 && applied.output.contains("~ /: the order of its children\n"), "\(applied)")
            #expect(try await daemon.pids().filter { $0.key != "/c" } == pids)
            try await daemon.eventually("all can be stopped") {
                ["a", "b", "c"].allSatisfy { Files.text(of: directory.file("started-\($0)")) != nil }
            }
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(Files.text(of: directory.file("stops")) == "b\nc\na\n")
        }
    }

    @Test("A waiting and a held child follow a file that frees them")
    func freed() async throws {
        let tree = """
            children:
              - { name: waits, program: { command: [sleep, "1000"] }, after: [never] }
              - { name: held, program: { command: [sleep, "1000"] }, requires: [failed] }
              - { name: never, program: { command: [/nowhere/x] }, restart_limits: { max_restarts: unlimited } }
              - { name: failed, program: { command: [/nowhere/x] }, restart_limits: { max_restarts: 0 } }
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("one waits, and one is held") {
                let states = try await daemon.states()
                return states["/waits"] == "waiting" && states["/held"] == "waiting" && states["/failed"] == "failed"
            }
            try daemon.rewrite(
                "children: [{ name: waits, program: { command: [sleep, '1000'] } }, { name: held, program: { command: [sleep, '1000'] } }]"
            )
            let applied = try await daemon.control("config", "apply")
            #expect(applied.exitCode == 0, "\(applied)")
            try await daemon.eventually("they are started") { try await daemon.states() == ["/waits": "active", "/held": "active"] }
        }
    }

    @Test("What requires a child that is stopped is started with it, and not by a change of the file")
    func requirementStopped() async throws {
        func tree(_ time: Int, _ rest: String = "") -> String {
            """
            children:
              - { name: db, program: { command: [sleep, '1000'] } }
              - { name: web, program: { command: [sleep, '\(time)'] }, requires: [db] }
            \(rest)
            """
        }
        let other = "  - { name: other, program: { command: [sleep, '1000'] }, requires: [db] }"
        try await RunningDaemon.with(tree(1000)) { daemon in
            _ = try await daemon.children(2)
            for (time, started) in [(1001, "/db"), (1002, "/web")] {
                #expect(try await daemon.control("stop", "/db").exitCode == 0)
                try daemon.rewrite(tree(time, other))
                let applied = try await daemon.control("config", "apply")
                let reason = "failed: not started: it requires /db, which doesn't run"
                #expect(applied.exitCode == 1 && applied.output.contains(reason), "\(applied)")
                #expect(try await daemon.states() == ["/db": "inactive", "/web": "waiting", "/other": "waiting"])
                #expect(try await daemon.control("start", started).exitCode == 0)
                let states = try await daemon.states()
                #expect(states["/db"] == "active" && states["/web"] == "active")
                let pid = try await daemon.runningPID(of: "/web")
                // A program has no arguments yet in the moment in which it takes its process over.
                try await daemon.eventually("it's the changed one") { Files.text(of: "/proc/\(pid)/cmdline") == "sleep\0\(time)\0" }
                #expect(states["/other"] == "active" || started == "/web")
            }
        }
    }
}

extension RunningDaemon {
    /// Returns the process IDs of the root's children that run, by path.
    func pids() async throws -> [String: Int32] {
        Dictionary(try await tree().children.compactMap { node in node.pid.map { (node.path, $0) } }) { first, _ in first }
    }
}
