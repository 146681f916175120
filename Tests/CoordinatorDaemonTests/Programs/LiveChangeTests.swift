import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import DaemonConfiguration

@Suite("What a change of each key does to a child that runs", .timeLimit(minutes: 3))
struct LiveChangeTests {
    /// The value that each key of a program gets; it hasn't it before, or another one.
    private static let ofProgram: [String: String] = [
        "command": #"[sleep, "1001"]"#, "environment": "{ A: b }", "directory": "/", "user": "nobody", "group": "nogroup", "umask": "027",
        "nice": "5", "limits": "{ nofile: 64 }", "environment_files": "[-/nowhere]", "inherit_environment": "false",
        "recycle": "{ after: 1h }", "stop_signal": "INT", "exit_codes": "[3]", "start_seconds": "10ms", "start_timeout": "5s",
        "ready": "{ tcp: 1 }", "watchdog": "1h", "health": "{ tcp: 1, on_failure: report }",
        "sockets": "[{ name: a, listen: DIR/socket }]", "stop_group": "true", "final_exit_codes": "[4]", "stdin": "open",
        "oom_score_adj": "500", "capabilities": "[]", "memory_max": "1GiB", "hooks": "{ reload: HUP }", "on_daemon_loss": "end",
    ]
    private static let ofChild: [String: String] = [
        "restart": "on_failure", "stop_timeout": "1s", "restart_limits": "{ max_restarts: 7 }", "autostart": "false", "after": "[still]",
        "requires": "[still]", "logging": "{ file: DIR/log }", "on_exit": "end_daemon", "on_failure": "end_daemon",
        "schedule": "{ cron: '@yearly' }",
    ]
    /// What makes another child of it, or is for others than programs.
    private static let others: Set = [
        "name", "worker", "program", "oneshot", "children", "defaults", "supervision", "instances", "overlap", "placement", "receives",
    ]

    private static func tree(_ directory: String, isChanged: Bool) -> String {
        var lines = [#"  - { name: still, program: { command: [sleep, "1000"] } }"#]
        for (name, value) in (ofProgram.map { ("program.\($0.key)", $0.value) } + ofChild.map { ($0.key, $0.value) }).sorted(by: <) {
            let key = name.split(separator: ".").last ?? ""
            if ["user", "group"].contains(key), geteuid() != 0 { continue }
            let change = isChanged ? ", \(key): \(value)" : ""
            let command = isChanged && key == "command" ? value : #"[sleep, "1000"]"#
            let program = "{ command: \(command)\(name == "program.\(key)" && key != "command" ? change : "") }"
            lines.append("  - { name: \(name), program: \(program)\(name == key ? change : "") }")
        }
        return ("children:\n" + lines.joined(separator: "\n") + "\n").replacing("DIR", with: directory)
    }

    @Test("A key that is live leaves the process alone, any other key brings another one: as each declaration says")
    func effects() async throws {
        #expect(Set(Keys.program.keys.map(\.description.name)) == Set(Self.ofProgram.keys))
        #expect(Set(Keys.child.keys.map(\.description.name)) == Set(Self.ofChild.keys).union(Self.others))
        let directory = try TemporaryDirectory()
        try await RunningDaemon.with(Self.tree(directory.path, isChanged: false)) { daemon in
            let count = Self.tree("", isChanged: false).split(separator: "\n").count - 1
            let before = try await Self.pids(daemon, count)
            try daemon.rewrite(Self.tree(directory.path, isChanged: true))
            let ended = try await daemon.control("config", "apply")
            #expect(ended.exitCode == 0, "\(ended.output)\(ended.errors)")
            let after = try await Self.pids(daemon, count)
            #expect(before["/still"] == after["/still"])
            let program = Keys.program.keys.map { ("program.\($0.description.name)", $0.description.effect) }
            let child = Keys.child.keys.map { ($0.description.name, $0.description.effect) }
            for (name, effect) in program + child where before["/\(name)"] != nil {
                #expect(ended.output.contains("~ /\(name): "), "\(ended.output)")
                #expect((before["/\(name)"] == after["/\(name)"]) == (effect == .live), "\(name)")
            }
        }
    }

    private static func pids(_ daemon: RunningDaemon, _ count: Int) async throws -> [String: Int32] {
        var pids: [String: Int32] = [:]
        try await daemon.eventually("all run") {
            let children = try await daemon.tree().children
            pids = Dictionary(uniqueKeysWithValues: children.compactMap { child in child.pid.map { (child.path, $0) } })
            return pids.count == count
        }
        return pids
    }

    private static let former = #"""
        children:
          - { name: stop, program: { command: [sh, -c, "trap 'touch DIR/asked; exit 0' INT; while :; do sleep 0.05; done"] } }
          - { name: codes, restart: on_failure, program: { command: [sh, -c, "until test -e DIR/end; do sleep 0.05; done; exit 3"] } }
          - { name: health, program: { command: [sleep, "1000"], health: { command: ["true"], interval: 50ms } } }
          - { name: less, program: { command: [sleep, "1000"], health: { command: ["false"], interval: 50ms, retries: 1, on_failure: report } } }
          - { name: attributes, program: { command: [sleep, "1000"], limits: { stack: { soft: 4MiB, hard: unlimited } } } }
          - { name: age, program: { command: [sleep, "1000"], recycle: { after: 1h } } }
          - { name: ready, program: { command: [sleep, "1000"] } }
          - { name: hooks, program: { command: [sleep, "1000"] } }
        """#
    private static let changes = [
        ("done\"] }", "done\"], stop_signal: INT }"), ("exit 3\"] }", "exit 3\"], exit_codes: [3] }"),
        (#"["true"], interval: 50ms"#, #"["false"], interval: 50ms, retries: 2, on_failure: report"#),
        (#", health: { command: ["false"], interval: 50ms, retries: 1, on_failure: report }"#, ""),
        ("limits: { stack: { soft: 4MiB, hard: unlimited } }", "limits: { nofile: { soft: 50, hard: 60 } }, nice: 7"),
        ("after: 1h", "after: 200ms"),
        (
            #"name: ready, program: { command: [sleep, "1000"]"#,
            #"name: ready, program: { command: [sleep, "1000"], ready: { command: [test, -e, DIR/go] }"#
        ),
        (
            #"name: hooks, program: { command: [sleep, "1000"]"#,
            #"name: hooks, program: { command: [sleep, "1000"], hooks: { reload: [touch, DIR/reloaded] }"#
        ),
    ]

    @Test("The new value of a live key acts on the process that runs, or where it's for a start, on the next one")
    func acting() async throws {
        let directory = try TemporaryDirectory()
        try await RunningDaemon.with(Self.former.replacing("DIR", with: directory.path)) { daemon in
            try await daemon.eventually("one is unhealthy") { try await daemon.node("/less").state == "unhealthy" }
            try await daemon.eventually("one is healthy") { try await daemon.node("/health").health?.healthy == true }
            let before = try await Self.pids(daemon, 8)
            var next = Self.former
            for (former, change) in Self.changes {
                #expect(next.contains(former), "\(former)")
                next = next.replacing(former, with: change, maxReplacements: 1)
            }
            try daemon.rewrite(next.replacing("DIR", with: directory.path))
            let ended = try await daemon.control("config", "apply")
            #expect(ended.exitCode == 0 && !ended.output.contains("(restart"), "\(ended.output)\(ended.errors)")
            try await daemon.eventually("the new check fails") { try await daemon.node("/health").state == "unhealthy" }
            #expect(try await daemon.node("/health").pid == before["/health"])
            let less = try await daemon.node("/less")
            #expect(less.state == "active" && less.health == nil && less.pid == before["/less"])
            let pid = try #require(before["/attributes"])
            let limits = try #require(Files.text(of: "/proc/\(pid)/limits"))
            #expect(limits.contains(/Max open files +50 +60/), "\(limits)")
            // A limit that isn't given any more is the daemon's.
            let own = try #require(Files.text(of: "/proc/\(daemon.process.identity.processID)/limits"))
            let stack = { (text: String) in text.split(separator: "\n").first { $0.hasPrefix("Max stack size") } }
            #expect(stack(limits) == stack(own))
            #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(pid)) == 7)
            try await daemon.eventually("it's replaced by its age") {
                let node = try await daemon.node("/age")
                return node.incarnation > 1 && node.restarts == 0
            }
            #expect(try await daemon.control("stop", "/stop").exitCode == 0)
            #expect(Files.names(in: directory.path).contains("asked"))
            try Files.write("", to: directory.file("end"))
            try await daemon.eventually("its end is normal") { try await daemon.node("/codes").state == "inactive" }
            #expect(try await daemon.control("reload", "/hooks").exitCode == 0)
            #expect(Files.names(in: directory.path).contains("reloaded"))
            #expect(try await daemon.node("/hooks").pid == before["/hooks"])
            _ = try await daemon.control("kill", "/ready")
            try await daemon.eventually("it isn't ready") {
                let node = try await daemon.node("/ready")
                return node.state == "restarting" && node.pid != nil && node.pid != before["/ready"]
            }
            try Files.write("", to: directory.file("go"))
            try await daemon.eventually("it's ready") { try await daemon.node("/ready").state == "active" }
        }
    }

    @Test(
        "A limit that can't be had is reported, and the program goes on",
        .enabled(if: geteuid() == 0, "only root can take the right away")
    )
    func refused() async throws {
        let tree = { (limit: String) in "children: [{ name: p, program: { command: [sleep, \"1000\"], user: nobody, nice: 3\(limit) } }]" }
        try await RunningDaemon.with(tree("")) { daemon in
            let before = try await Self.pids(daemon, 1)
            // Not even root has more than the kernel's largest number of descriptors.
            try daemon.rewrite(tree(", limits: { nofile: 2000000000 }"))
            let ended = try await daemon.control("config", "apply")
            #expect(ended.exitCode == 1 && ended.output.contains("failed: /p: Could not change the limit nofile"), "\(ended.output)")
            #expect(try await Self.pids(daemon, 1) == before)
        }
    }
}
