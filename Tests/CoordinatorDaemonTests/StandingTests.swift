import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("How children stand when the daemon is killed", .timeLimit(minutes: 3))
struct StandingTests {
    /// What has run once tells so in a file; `DIRECTORY` is that of the test.
    private static let tree = """
        children:
          - { name: stopped, program: { command: [sleep, "1000"] } }
          - { name: stopped-worker, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
          - { name: paused, program: { command: [sleep, "1000"] } }
          - { name: paused-worker, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
          - { name: never, restart: never, program: { command: [sh, -c, "echo >> DIRECTORY/never"] } }
          - { name: once, oneshot: { command: [sh, -c, "echo >> DIRECTORY/once"] } }
          - { name: after, program: { command: [sleep, "1000"] }, requires: { once: completed } }
          - { name: needing, program: { command: [sleep, "1000"] }, requires: [stopped] }
          - { name: manual, autostart: false, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
          - { name: unused, autostart: false, program: { command: [sleep, "1000"] } }
          - name: group
            children:
              - { name: stopped, program: { command: [sleep, "1000"] } }
              - { name: paused, program: { command: [sleep, "1000"] } }
          - { name: stopped-group, children: [{ name: child, program: { command: [sleep, "1000"] } }] }
        orphan_grace: 60s
        """

    /// How each child stands after the operator's commands.
    private static let states = [
        "/stopped": "inactive", "/stopped-worker": "inactive", "/paused": "paused", "/paused-worker": "paused", "/never": "inactive",
        "/once": "inactive", "/after": "active", "/needing": "waiting", "/manual": "active", "/unused": "inactive", "/group": "active",
        "/group/stopped": "inactive", "/group/paused": "paused", "/stopped-group": "inactive", "/stopped-group/child": "inactive",
    ]

    @Test("The next daemon goes on so: what is stopped, paused, ended, or was started by an operator; an orderly end forgets it")
    func kept() async throws {
        let directory = try TemporaryDirectory()
        func runs(of name: String) -> Int { Files.text(of: directory.file(name))?.count ?? 0 }
        try await RunningDaemon.with(Self.tree.replacing("DIRECTORY", with: directory.path)) { daemon in
            try await daemon.eventually("all has begun") {
                let states = try await daemon.standing().states
                return states["/after"] == "active" && states["/needing"] == "active" && states["/paused-worker"] == "active"
                    && states["/group/paused"] == "active" && states["/stopped-group/child"] == "active" && runs(of: "never") == 1
                    && states["/never"] == "inactive"
            }
            for path in ["/stopped", "/stopped-worker", "/group/stopped", "/stopped-group"] { try await daemon.call(.stop(path: path)) }
            for path in ["/paused", "/paused-worker", "/group/paused"] { try await daemon.call(.pause(path: path)) }
            try await daemon.call(.start(path: "/manual"))
            let before = try await daemon.standing()
            #expect(before.states == Self.states)
            var current = daemon.process
            for _ in 1...2 {
                current = try await daemon.killAndReplace(current)
                try await daemon.eventually("all stands as before") { try await daemon.standing() == before }
            }
            // A wish that is taken back is forgotten.
            for path in ["/paused", "/paused-worker"] { try await daemon.call(.resume(path: path)) }
            try await daemon.call(.start(path: "/stopped-worker"))
            current = try await daemon.killAndReplace(current)
            try await daemon.eventually("what goes on runs") {
                let states = try await daemon.standing().states
                return ["/paused", "/paused-worker", "/stopped-worker"].allSatisfy { states[$0] == "active" }
            }
            #expect(try await daemon.node("/stopped").state == "inactive")
            #expect(runs(of: "never") == 1 && runs(of: "once") == 1)
            // What the file says otherwise by now is run; what an operator has stopped stays so.
            try await daemon.kill(current)
            let tree = Self.tree.replacing("DIRECTORY", with: directory.path)
            try daemon.rewrite(
                tree.replacing("echo >> \(directory.path)/once", with: "echo again >> \(directory.path)/once")
                    .replacing(
                        "name: stopped, program: { command: [sleep, \"1000\"]",
                        with: "name: stopped, program: { command: [sleep, \"1001\"]"
                    )
            )
            current = try await daemon.startNext()
            try await daemon.eventually("the changed one has run") { Files.text(of: directory.file("once")) == "\nagain\n" }
            for path in ["/stopped", "/group/stopped"] { #expect(try await daemon.node(path).state == "inactive", "\(path)") }
            #expect(runs(of: "never") == 1)
            try await daemon.endLeavingNothing(current)
            _ = try await daemon.startNext()
            try await daemon.eventually("all begins as the file says") {
                let states = try await daemon.standing().states
                return runs(of: "never") == 2 && Files.text(of: directory.file("once")) == "\nagain\nagain\n"
                    && states["/stopped"] == "active" && states["/group/paused"] == "active"
                    && states["/stopped-group/child"] == "active" && states["/manual"] == "inactive"
            }
        }
    }

    @Test("A file that can't be read is told and kept, and one of another boot is nobody's", arguments: ["{", "[]", "{\"format\":2}"])
    func damaged(_ content: String) async throws {
        let log = Transcript()
        let tree = "children: [{ name: a, program: { command: [sleep, '1000'] } }]"
        try await RunningDaemon.with(tree, standardError: log.destination) { daemon in
            try await daemon.eventually("it runs") { try await daemon.node("/a").state == "active" }
            try await daemon.kill(daemon.process)
            try Files.write(content, to: "\(daemon.run)/children.json")
            _ = try await daemon.startNext()
            try await daemon.eventually("it begins as the file says") { try await daemon.node("/a").state == "active" }
            #expect(Files.text(of: "\(daemon.run)/children.json.bad") == content)
        }
    }

    @Test("A runtime directory that was removed is made again with what the next daemon must know, and that is told")
    func healed() async throws {
        let log = Transcript()
        try await RunningDaemon.with("children: [{ name: a, program: { command: [sleep, '1000'] } }]", standardError: log.destination) {
            daemon in
            try await daemon.eventually("it's ready") { log.text.contains("ready: each child has been started") }
            let lines = log.text.split(separator: "\n")
            let (served, ready) = ("operators are served", "ready: each child")
            #expect(
                lines.firstIndex(where: { $0.contains(served) }) ?? .max < lines.firstIndex(where: { $0.contains(ready) }) ?? .min,
                "the children are ready after the operators are served"
            )
            #expect(lines.contains { $0.contains(ready) && $0.contains("children=1 child is active") })
            try await daemon.call(.stop(path: "/a"))
            // At once, and not file by file, between which the daemon might look.
            rename(daemon.run, daemon.run + ".gone")
            try await daemon.eventually("operators reach it again") {
                try await daemon.control("events").output.contains("restored")
            }
            let events = try await daemon.control("events").output
            #expect(events.contains("removed, and made again: the directory, control.sock"), "\(events)")
            #expect(log.text.ranges(of: "the runtime directory was damaged").count == 1)
            #expect(Files.names(in: daemon.run).contains("children.json"))
        }
    }
}

/// The states of the children of a daemon, and the processes of those that run.
private struct Standing: Equatable {
    var states: [String: String] = [:]
    var processes: [String: Int32] = [:]
}

extension RunningDaemon {
    fileprivate func standing() async throws -> Standing {
        var standing = Standing()
        func visit(_ node: TreeNode) {
            standing.states[node.path] = node.state
            if node.placement != .inProcess { standing.processes[node.path] = node.pid }
            for child in node.children { visit(child) }
        }
        for child in try await tree().children { visit(child) }
        return standing
    }
}
