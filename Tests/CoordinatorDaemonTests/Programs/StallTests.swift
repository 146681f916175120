import Control
import Glibc
import Processes
import TestSupport
import Testing

/// A daemon that stands still for longer than every deadline of its programs, which do in time what they have to.
@Suite("Verdicts after a stall of the daemon", .timeLimit(minutes: 2))
struct StallTests {
    private static let hasNotify = access("/usr/bin/systemd-notify", X_OK) == 0
    private static let untilGo = "until test -e DIR/go; do sleep 0.05; done; "

    /// A deadline of a program, and the program that meets it while the daemon stands still.
    private struct Deadline {
        let name: String
        let keys: String
        var script = "exec sleep 1000"
        /// Whether the program is started immediately before the stall.
        var isStart = false
        var needsNotify = false

        static func all(port: UInt16) -> [Deadline] {
            [
                Deadline(
                    name: "watchdog",
                    keys: "watchdog: 1500ms",
                    script: "while :; do systemd-notify WATCHDOG=1; sleep 0.1; done",
                    needsNotify: true
                ),
                Deadline(
                    name: "notify",
                    keys: "ready: notify, start_timeout: 2s",
                    script: "\(untilGo)systemd-notify --ready; exec sleep 1000",
                    isStart: true,
                    needsNotify: true
                ),
                Deadline(
                    name: "descriptor",
                    keys: "ready: { fd: 3 }, start_timeout: 2s",
                    script: "\(untilGo)echo >&3; exec sleep 1000",
                    isStart: true
                ),
                Deadline(
                    name: "command",
                    keys: "ready: { command: [test, -e, DIR/go], interval: 50ms }, start_timeout: 2s",
                    isStart: true
                ),
                Deadline(
                    name: "check",
                    keys: "health: { command: [sleep, '0.3'], interval: 10ms, timeout: 2s, retries: 1 }"
                ),
                Deadline(name: "http", keys: "health: { http: 'http://127.0.0.1:\(port)/', interval: 20ms, timeout: 1s, retries: 1 }"),
                Deadline(name: "tcp", keys: "health: { tcp: \(port), interval: 20ms, timeout: 1s, retries: 1 }"),
                Deadline(
                    name: "stop",
                    keys: "environment: { A: b }",
                    script: "trap \"touch DIR/told; \(untilGo)exit 5\" TERM; touch DIR/up; while :; do sleep 0.05; done"
                ),
            ].filter { !$0.needsNotify || hasNotify }
        }
    }

    @Test("What a program has done in time counts, also when the daemon hears it after the deadline")
    func stall() async throws {
        let directory = try TemporaryDirectory()
        let server = try SmallServer("HTTP/1.0 200 OK\r\n\r\n")
        let deadlines = Deadline.all(port: server.port)
        let children = deadlines.map { deadline in
            "  - { name: \(deadline.name), autostart: \(!deadline.isStart), stop_timeout: 2s, program: "
                + "{ command: [sh, -c, '\(deadline.script)'], \(deadline.keys) } }\n"
        }
        let tree = "children:\n\(children.joined())".replacing("DIR", with: directory.path)
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("those that are to run do") {
                for deadline in deadlines where !deadline.isStart {
                    let node = try await daemon.node("/\(deadline.name)")
                    guard node.state == "active", !deadline.keys.hasPrefix("health") || node.health != nil else { return false }
                }
                return access(directory.file("up"), F_OK) == 0
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (verb, name) in deadlines.filter(\.isStart).map({ ("start", $0.name) }) + [("stop", "stop")] {
                    group.addTask {
                        let command = try await daemon.control(verb, "/\(name)")
                        #expect(command.exitCode == 0, "\(name): \(command)")
                    }
                }
                try await daemon.eventually("the starts and the stop have begun") {
                    for deadline in deadlines where deadline.isStart {
                        guard try await daemon.node("/\(deadline.name)").pid != nil else { return false }
                    }
                    return access(directory.file("told"), F_OK) == 0
                }
                try daemon.process.send(.stop)
                try Files.write("", to: directory.file("go"))
                try await realTime(.milliseconds(2_500), because: "the daemon is stopped while the kernel's clock goes on")
                try daemon.process.send(.continue)
                try await group.waitForAll()
            }
            #expect(try await daemon.node("/stop").lastExit == "exited with code 5")
            for round in 0..<2 {
                // A verdict that was wrong shows soon after.
                if round == 1 {
                    try await realTime(.milliseconds(500), because: "a program would be ended at a time of the daemon's clock")
                }
                for deadline in deadlines where deadline.name != "stop" {
                    let node = try await daemon.node("/\(deadline.name)")
                    #expect(
                        node.state == "active" && node.incarnation == 1 && node.restarts == 0,
                        "\(deadline.name): \(node.lastExit ?? "")"
                    )
                    #expect(node.health?.failures ?? 0 == 0, "\(deadline.name)")
                }
            }
        }
    }

    @Test("A program that really gives no sign is ended all the same, after a stall too")
    func hung() async throws {
        let tree = try ProgramTree("exec sleep 1000", "watchdog: 2s", intensity: 100)
        try await tree.run { daemon in
            try await daemon.program("it's ready") { $0.state == "active" }
            try daemon.process.send(.stop)
            try await realTime(.milliseconds(500), because: "the daemon is stopped while the kernel's clock goes on")
            try daemon.process.send(.continue)
            #expect(try await daemon.program("its next life") { $0.incarnation > 1 }.lastExit == "hung")
        }
    }
}
