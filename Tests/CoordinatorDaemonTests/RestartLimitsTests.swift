import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("Restarts of the daemon's children", .timeLimit(minutes: 3))
struct RestartLimitsTests {
    @Test("A child that fails again and again takes no restart from a healthy one, before it's given up and after")
    func flappingSibling() async throws {
        let tree = """
            children:
              - name: healthy
                program: { command: [sleep, "1000"] }
              - name: looper
                program: { command: [sh, -c, "exit 1"] }
              - name: tireless
                program: { command: [sh, -c, "exit 1"] }
                restart_limits: { max_restarts: unlimited, backoff: { minimum: 1ms, maximum: 20ms } }
            supervision: { max_restarts: 3, period: 60s, backoff: { minimum: 1ms, maximum: 10ms } }
            """
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.killHealthy(life: 1)
            try await daemon.eventually("the looper is given up") { try await daemon.node("/looper").state == "failed" }
            try await daemon.killHealthy(life: 2)
            try await daemon.killHealthy(life: 3)
            #expect(try await daemon.node("/healthy").restarts == 3)
            #expect(try await daemon.node("/looper").incarnation == 4)
            try await daemon.eventually("one that is never given up is started again and again") {
                try await daemon.node("/tireless").incarnation > 20
            }
        }
    }

    @Test("An operator's start doesn't wait for the backoff; only what supervision restarts is counted")
    func startDuringBackoff() async throws {
        let tree = """
            children:
              - name: late
                program: { command: [sh, -c, "test -e ready && exec sleep 1000; echo x >> tries; exit 1"], directory: DIRECTORY }
            supervision: { max_restarts: 100, period: 60s, backoff: { minimum: 1h, maximum: 1h } }
            """
        let directory = try TemporaryDirectory()
        try await RunningDaemon.with(tree.replacing("DIRECTORY", with: directory.path)) { daemon in
            try await daemon.eventually("it waits for its third life") {
                let node = try await daemon.node("/late")
                return Files.text(of: directory.file("tries")) == "x\nx\n" && node.pid == nil && node.state == "restarting"
            }
            try Files.write("", to: directory.file("ready"))
            let start = try await daemon.control("start", "/late")
            #expect(start.exitCode == 0)
            #expect(start.output.hasPrefix("/late: active "))
            for _ in 0..<3 { #expect(try await daemon.control("restart", "/late").exitCode == 0) }
            let node = try await daemon.node("/late")
            #expect(node.restarts == 1)
            #expect(node.incarnation == 6)
        }
    }

    @Test(
        "A worker of the file has its limit of memory: with too little it isn't started, and the reason says how much it needs",
        .disabled(if: Sanitizer.isOn, "the sanitizer's own memory is many times the limit")
    )
    func memoryLimit() async throws {
        let tree = "children: [{ name: app, worker: { executable: FIXTURE, coordinator: RootCoordinator, memory_max: 1MiB } }]"
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("the start is refused") {
                try await daemon.node("/app").lastExit?.contains("more than its memoryLimit of 1048576") == true
            }
            try daemon.rewrite(tree.replacing("1MiB", with: "4GiB"))
            let applied = try await daemon.control("config", "apply")
            #expect(applied.output.hasPrefix("~ /app: worker.memory_max (restart)\n    worker.memory_max: 1MiB → 4GiB  at "), "\(applied)")
            try await daemon.eventually("it's started") { try await daemon.node("/app").state == "active" }
        }
    }
}

extension RunningDaemon {
    /// Kills the healthy child's process, and waits for its restart.
    fileprivate func killHealthy(life: UInt32) async throws {
        try await eventually("life \(life)") {
            let node = try await node("/healthy")
            return node.incarnation == life && node.state == "active"
        }
        Glibc.kill(try #require(try await node("/healthy").pid), SIGKILL)
        try await eventually("life \(life + 1)") { try await node("/healthy").incarnation == life + 1 }
    }
}
