import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("Groups and dependencies of the daemon's children", .timeLimit(minutes: 5))
struct GroupTests {
    private static let group = """
        children:
          - name: web
            children:
              - { name: a, program: { command: [sleep, "1000"] }, instances: 2 }
              - { name: once, program: { command: ["true"] }, restart: never }
              - { name: later, program: { command: [sleep, "1000"] }, autostart: false }
              - name: inner
                children: [{ name: worker, worker: { executable: FIXTURE, coordinator: RootCoordinator } }]
        """

    @Test("The children of groups are started, stopped and shown at every depth, those that supervision doesn't know too")
    func depth() async throws {
        try await RunningDaemon.with(Self.group) { daemon in
            try await daemon.eventually("all has begun") {
                try await daemon.states() == [
                    "/web": "active", "/web/a-1": "active", "/web/a-2": "active", "/web/once": "inactive", "/web/later": "inactive",
                    "/web/inner": "active", "/web/inner/worker": "active",
                ]
            }
            #expect(try await daemon.tree().children[0].children.map(\.key) == ["a-1", "a-2", "once", "later", "inner"])
            #expect(try await daemon.control("start", "/web/later").exitCode == 0)
            #expect(try await daemon.node("/web/later").state == "active")
            #expect(try await daemon.control("start", "/web/once").output.contains("inactive (started, and has ended"))
            #expect(try await daemon.control("stop", "/web/a-1").exitCode == 0)
            #expect(try await daemon.control("restart", "/web/inner/worker").exitCode == 0)
            #expect(try await daemon.node("/web/inner/worker").incarnation == 2)
            let states = try await daemon.states()
            #expect(states["/web/a-1"] == "inactive" && states["/web/a-2"] == "active" && states["/web/inner/worker"] == "active")

            let processes = try await daemon.processes()
            #expect(try await daemon.control("stop", "/web").exitCode == 0)
            #expect(processes.filter(\.isAlive).isEmpty)
            #expect(Set(try await daemon.states().values) == ["inactive"])
            #expect(try await daemon.states().count == 7)
            #expect(try await daemon.control("status", "/web/inner/worker").exitCode == 3)
            #expect(try await daemon.control("status", "/web/nothing").exitCode != 0)

            #expect(try await daemon.control("start", "/web").exitCode == 0)
            try await daemon.eventually("all has begun again, as the file says") {
                let states = try await daemon.states()
                return states["/web/a-1"] == "active" && states["/web/later"] == "inactive" && states["/web/inner/worker"] == "active"
            }
        }
    }

    @Test("A child that fails too often ends a group with a strategy, and the group is restarted or given up by limits of its own")
    func escalation() async throws {
        let tree = """
            children:
              - { name: other, program: { command: [sleep, "1000"] } }
              - name: web
                restart_limits: { max_restarts: 2, backoff: { minimum: 1ms, maximum: 1ms } }
                supervision: { strategy: rest_for_one, max_restarts: 1, period: 60s, backoff: { minimum: 1ms, maximum: 1ms } }
                children:
                  - { name: calm, program: { command: [sleep, "1000"] } }
                  - { name: looper, program: { command: [sh, -c, "exit 1"] } }
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("the group is given up") { try await daemon.node("/web").state == "failed" }
            let web = try await daemon.node("/web")
            #expect(web.incarnation == 3)
            #expect(web.children.map(\.state) == ["inactive", "inactive"])
            #expect(try await daemon.node("/other").incarnation == 1)
            #expect(try await daemon.processes().count == 1)
        }
    }

    /// `late` can't be started before its program exists.
    private static let late = """
        children:
          - { name: after, program: { command: [sleep, "1000"] }, after: [late] }
          - { name: needs, program: { command: [sleep, "1000"] }, requires: [late] }
          - { name: free, program: { command: [sleep, "1000"] } }
          - name: late
            program: { command: [DIRECTORY/late] }
            restart_limits: { max_restarts: LIMIT, backoff: { minimum: 1ms, maximum: 5ms } }
        """

    private static func withLate(limit: String, _ body: (RunningDaemon, _ appear: () throws -> Void) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        let tree = late.replacing("DIRECTORY", with: directory.path).replacing("LIMIT", with: limit)
        try await RunningDaemon.with(tree) { daemon in
            try await body(daemon) { try Files.write("#!/bin/sh\nexec sleep 1000\n", to: directory.file("late"), mode: 0o700) }
        }
    }

    @Test("A child waits until those before it are ready, and an operator's stop ends its wait")
    func waiting() async throws {
        try await Self.withLate(limit: "unlimited") { daemon, appear in
            try await daemon.eventually("two wait") {
                let states = try await daemon.states()
                return states["/after"] == "waiting" && states["/needs"] == "waiting" && states["/free"] == "active"
            }
            try await daemon.eventually("it's tried again and again") { try await daemon.node("/late").incarnation > 5 }
            #expect(try await daemon.states()["/after"] == "waiting")
            #expect(try await daemon.control("stop", "/after").exitCode == 0)
            #expect(try await daemon.states()["/after"] == "inactive")
            try appear()
            try await daemon.eventually("what is required is ready") { try await daemon.states()["/needs"] == "active" }
            #expect(try await daemon.states() == ["/after": "inactive", "/needs": "active", "/free": "active", "/late": "active"])
        }
    }

    @Test("A child isn't started without what it requires, and is started with it")
    func givenUp() async throws {
        try await Self.withLate(limit: "2") { daemon, appear in
            try await daemon.eventually("it's given up") {
                try await daemon.states() == ["/after": "active", "/needs": "waiting", "/free": "active", "/late": "failed"]
            }
            #expect(try await daemon.node("/needs").lastExit == "not started: it requires /late, which doesn't run")
            let start = try await daemon.control("start", "/needs")
            #expect(start.exitCode == 1 && start.errors.contains("/needs requires /late, which can't be started"))
            try appear()
            #expect(try await daemon.control("start", "/late").exitCode == 0)
            #expect(try await daemon.states() == ["/after": "active", "/needs": "active", "/free": "active", "/late": "active"])
        }
    }

    @Test("What requires a child is stopped before it, and started after it; a start starts what is required")
    func operators() async throws {
        let directory = try TemporaryDirectory()
        // On SIGTERM it writes whether the one that it requires runs.
        let script = """
            trap 'kill -0 $(cat base.pid) && echo before >> stops; exit 0' TERM; echo $$ > middle.pid; while :; do sleep 0.05; done
            """
        let tree = """
            children:
              - { name: top, program: { command: [sleep, "1000"] }, requires: [middle] }
              - { name: middle, program: { command: [sh, -c, "\(script)"], directory: DIRECTORY }, requires: [base] }
              - { name: base, program: { command: [sh, -c, "echo $$ > base.pid; exec sleep 1000"], directory: DIRECTORY }, autostart: false }
              - { name: loose, program: { command: [sleep, "1000"] }, after: [base] }
            """.replacing("DIRECTORY", with: directory.path)
        func stops() -> Int { Files.text(of: directory.file("stops"))?.split(separator: "\n").count ?? 0 }
        try await RunningDaemon.with(tree) { daemon in
            // A shell that has just begun has no trap yet.
            func isTrapSet() async throws {
                let pid = try await daemon.runningPID(of: "/middle")
                try await daemon.eventually("the signal is trapped") { Files.text(of: directory.file("middle.pid")) == "\(pid)\n" }
            }
            // What is required is started, although its own autostart is false.
            _ = try await daemon.children(4)
            try await isTrapSet()
            #expect(try await daemon.control("stop", "/base").exitCode == 0)
            #expect(try await daemon.states() == ["/top": "waiting", "/middle": "waiting", "/base": "inactive", "/loose": "active"])
            #expect(stops() == 1)
            #expect(try await daemon.control("start", "/base").exitCode == 0)
            #expect(try await daemon.states() == ["/top": "active", "/middle": "active", "/base": "active", "/loose": "active"])

            try await isTrapSet()
            #expect(try await daemon.control("stop", "/base").exitCode == 0)
            #expect(try await daemon.control("start", "/middle").exitCode == 0)
            #expect(try await daemon.states() == ["/top": "active", "/middle": "active", "/base": "active", "/loose": "active"])

            let loose = try await daemon.node("/loose").pid
            try await isTrapSet()
            #expect(try await daemon.control("restart", "/base").exitCode == 0)
            #expect(try await daemon.states().values.allSatisfy { $0 == "active" })
            #expect(try await daemon.node("/top").incarnation == 4)
            #expect(try await daemon.node("/loose").pid == loose)

            // One that an operator has stopped by itself isn't started with the other.
            #expect(try await daemon.control("stop", "/top").exitCode == 0)
            try await isTrapSet()
            #expect(try await daemon.control("restart", "/base").exitCode == 0)
            #expect(try await daemon.states()["/top"] == "inactive")
            let before = stops()
            #expect(before == 4)
            try await isTrapSet()
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(stops() == before + 1)
        }
    }

    @Test("A killed daemon's workers are adopted by the next one, in groups and after others too")
    func adoption() async throws {
        let tree = """
            children:
              - { name: last, worker: { executable: FIXTURE, coordinator: RootCoordinator }, after: [web] }
              - name: web
                children: [{ name: inner, worker: { executable: FIXTURE, coordinator: RootCoordinator } }]
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("all run") { try await daemon.states().values.count { $0 == "active" } == 3 }
            let before = Set(try await daemon.processes())
            let next = try await daemon.killAndReplace(daemon.process)
            try await daemon.eventually("they are adopted") { try await daemon.states().values.count { $0 == "active" } == 3 }
            let after = try await daemon.processes().filter { $0.processID != next.identity.processID }
            #expect(Set(after) == before)
            #expect(await next.terminate(grace: .patient(.seconds(20))) == .exited(code: 0))
            #expect(before.filter(\.isAlive).isEmpty)
        }
    }
}

extension RunningDaemon {
    /// Returns the states of all nodes below the root, by path.
    func states() async throws -> [String: String] {
        func states(_ node: TreeNode) -> [(String, String)] { [(node.path, node.state)] + node.children.flatMap(states) }
        return Dictionary(uniqueKeysWithValues: try await tree().children.flatMap(states))
    }
}
