import Control
import Glibc
import Processes
import TestSupport
import Testing

/// A daemon that stands still for longer than every deadline of its children, which do in time what they have to.
///
/// The deadlines of a worker that are long are in `WorkerMachineTests` and `WorkerStallTests`, those of the thread that ends processes in
/// `ProcessesTests.Termination`.
@Suite("Verdicts after a stall of the daemon", .timeLimit(minutes: 2))
struct StallTests {
    private static let hasNotify = access("/usr/bin/systemd-notify", X_OK) == 0
    private static let untilGo = "until test -e DIR/go; do sleep 0.05; done; "
    private static let up = "touch DIR/NAME.up; "
    private static let told = "touch DIR/NAME.told; "
    private static let forever = "while :; do sleep 0.05; done"

    /// A deadline of a child, and the child that meets it while the daemon stands still, or would have if that hadn't.
    private struct Deadline {
        /// What happens immediately before the stall.
        enum Moment: Equatable {
            case nothing
            /// The child is started; its process runs then, or its hook has made a file.
            case start
            /// The child is stopped, and ends with this reason.
            case stop(String)
        }

        let name: String
        let keys: String
        /// The script of a program; `nil`: the child is a worker, which stands still with the daemon.
        var script: String? = "exec sleep 1000"
        var moment = Moment.nothing
        var stopTimeout = "2s"
        var needsNotify = false

        var child: String {
            let process =
                if let script { "program: { command: [sh, -c, '\(script)'], \(keys) }" } else { "worker: { \(keys) }" }
            return "  - { name: \(name), autostart: \(moment != .start), stop_timeout: \(stopTimeout), \(process) }\n".replacing(
                "NAME",
                with: name
            )
        }

        /// Whether the child says by a file that it's up, and whether by another one that it was told what it is to do.
        var saysUp: Bool { child.contains("\(name).up") }
        var saysTold: Bool { child.contains("\(name).told") }

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
                    moment: .start,
                    needsNotify: true
                ),
                Deadline(
                    name: "descriptor",
                    keys: "ready: { fd: 3 }, start_timeout: 2s",
                    script: "\(untilGo)echo >&3; exec sleep 1000",
                    moment: .start
                ),
                Deadline(
                    name: "command",
                    keys: "ready: { command: [test, -e, DIR/go], interval: 50ms }, start_timeout: 2s",
                    moment: .start
                ),
                Deadline(
                    name: "hook",
                    keys: "hooks: { before_start: { command: [sh, -c, '\(told)\(untilGo)sleep 3'], timeout: 2s } }",
                    moment: .start
                ),
                Deadline(
                    name: "check",
                    keys: "health: { command: [sleep, '0.3'], interval: 10ms, timeout: 2s, retries: 1 }"
                ),
                Deadline(name: "http", keys: "health: { http: 'http://127.0.0.1:\(port)/', interval: 20ms, timeout: 1s, retries: 1 }"),
                Deadline(name: "tcp", keys: "health: { tcp: \(port), interval: 20ms, timeout: 1s, retries: 1 }"),
                // Failures don't count for as long as the program has run while the daemon has.
                Deadline(
                    name: "period",
                    keys: "health: { command: [test, -e, DIR/late], interval: 100ms, retries: 1, start_period: 3s }",
                    script: "\(told)\(untilGo)sleep 3; touch DIR/late; exec sleep 1000",
                    moment: .start
                ),
                Deadline(
                    name: "stop",
                    keys: "environment: { A: b }",
                    script: "trap \"\(told)\(untilGo)sleep 3; exit 5\" TERM; \(up)\(forever)",
                    moment: .stop("exited with code 5")
                ),
                // The others are asked when the first process has ended, which the daemon hears late.
                Deadline(
                    name: "others",
                    keys: "environment: { A: b }",
                    script: "(trap \"sleep 0.7; touch DIR/others.done; exit\" TERM; touch DIR/others.ready; \(forever)) & "
                        + "until test -e DIR/others.ready; do sleep 0.05; done; trap \"\(told)\(untilGo)exit 5\" TERM; \(up)\(forever)",
                    moment: .stop("exited with code 5")
                ),
                // They have been asked when the daemon stands still.
                Deadline(
                    name: "asked",
                    keys: "environment: { A: b }",
                    script: "(trap \"\(told)\(untilGo)sleep 3; touch DIR/asked.done; exit\" TERM; touch DIR/asked.ready; \(forever)) & "
                        + "until test -e DIR/asked.ready; do sleep 0.05; done; trap \"exit 5\" TERM; \(up)\(forever)",
                    moment: .stop("exited with code 5")
                ),
                // The signal follows when the hook has taken too long, or the program after the hook.
                Deadline(
                    name: "stopHook",
                    keys: "hooks: { stop: { command: [sh, -c, '\(told)\(untilGo)true'], timeout: 2s } }",
                    script: "trap \"exit 9\" TERM; \(up)\(untilGo)sleep 3; exit 5",
                    moment: .stop("exited with code 5"),
                    stopTimeout: "20s"
                ),
                Deadline(
                    name: "afterEnd",
                    keys: "hooks: { after_end: { command: [sh, -c, '\(told)\(untilGo)sleep 3; touch DIR/afterEnd.done'], timeout: 2s } }",
                    script: "trap \"exit 5\" TERM; \(up)\(forever)",
                    moment: .stop("exited with code 5"),
                    stopTimeout: "3s"
                ),
                Deadline(
                    name: "worker",
                    keys: "executable: FIXTURE, coordinator: RootCoordinator",
                    script: nil,
                    moment: .stop("shutdown")
                ),
            ].filter { !$0.needsNotify || hasNotify }
        }
    }

    @Test("What a child has done in time counts, also when the daemon hears it after the deadline, and it has the rest of its time")
    func stall() async throws {
        let directory = try TemporaryDirectory()
        let server = try SmallServer("HTTP/1.0 200 OK\r\n\r\n")
        let deadlines = Deadline.all(port: server.port)
        func exists(_ name: String) -> Bool { access(directory.file(name), F_OK) == 0 }
        let tree = "children:\n\(deadlines.map(\.child).joined())".replacing("DIR", with: directory.path)
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("those that are to run do") {
                for deadline in deadlines where deadline.moment != .start {
                    let node = try await daemon.node("/\(deadline.name)")
                    guard node.state == "active", !deadline.keys.hasPrefix("health") || node.health != nil else { return false }
                    guard !deadline.saysUp || exists("\(deadline.name).up") else { return false }
                }
                return true
            }
            let worker = try await daemon.runningPID(of: "/worker")
            defer { kill(worker, SIGCONT) }
            try await stopProcess(worker)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for deadline in deadlines where deadline.moment != .nothing {
                    group.addTask {
                        let verb = deadline.moment == .start ? "start" : "stop"
                        let command = try await daemon.control(verb, "/\(deadline.name)")
                        #expect(command.exitCode == 0, "\(deadline.name): \(command)")
                    }
                }
                try await daemon.eventually("the starts and the stops have begun") {
                    for deadline in deadlines where deadline.moment != .nothing {
                        let node = try await daemon.node("/\(deadline.name)")
                        guard deadline.saysTold ? exists("\(deadline.name).told") : node.pid != nil else { return false }
                        if deadline.script == nil, node.state != "stopping" { return false }
                    }
                    return true
                }
                try await stopProcess(daemon.process)
                try Files.write("", to: directory.file("go"))
                try await realTime(.milliseconds(2_500), because: "the daemon is stopped while the kernel's clock goes on")
                try daemon.process.send(.continue)
                try await realTime(.milliseconds(300), because: "the worker goes on a moment after the daemon")
                kill(worker, SIGCONT)
                try await group.waitForAll()
            }
            for name in ["others", "asked", "afterEnd"] { #expect(exists("\(name).done"), "\(name) was not killed") }
            for round in 0..<2 {
                // A verdict that was wrong shows soon after.
                if round == 1 {
                    try await realTime(.milliseconds(500), because: "a program would be ended at a time of the daemon's clock")
                }
                for deadline in deadlines {
                    let node = try await daemon.node("/\(deadline.name)")
                    if case .stop(let reason) = deadline.moment {
                        #expect(node.lastExit == reason && node.forcedKills == nil, "\(deadline.name): \(node.lastExit ?? "")")
                        continue
                    }
                    #expect(
                        node.state == "active" && node.incarnation == 1 && node.restarts == 0,
                        "\(deadline.name): \(node.lastExit ?? "")"
                    )
                    #expect(node.health?.failures ?? 0 == 0, "\(deadline.name)")
                }
            }
        }
    }

    @Test("A program that the next daemon's file doesn't have any more is given its time to end, though that daemon stands still")
    func unclaimed() async throws {
        let directory = try TemporaryDirectory()
        let script =
            "trap \"touch DIR/told; until test -e DIR/go; do sleep 0.05; done; sleep 3; touch DIR/done; exit\" TERM; touch DIR/up; "
        let tree = "children:\n  - { name: p, stop_timeout: 2s, program: { command: [sh, -c, '\(script)\(Self.forever)'] } }\n"
        func exists(_ name: String) -> Bool { access(directory.file(name), F_OK) == 0 }
        try await RunningDaemon.with(tree.replacing("DIR", with: directory.path)) { daemon in
            try await daemon.eventually("it's up") { exists("up") }
            let former = try #require(ProcessIdentity(processID: try await daemon.runningPID(of: "/p")))
            try daemon.rewrite("children: []\n")
            let next = try await daemon.killAndReplace(daemon.process)
            try await daemon.eventually("it was told to end") { exists("told") }
            try await stopProcess(next)
            try Files.write("", to: directory.file("go"))
            try await realTime(.milliseconds(2_500), because: "the daemon is stopped while the kernel's clock goes on")
            try next.send(.continue)
            await former.waitUntilGone()
            #expect(exists("done"))
        }
    }

    @Test("A program that really gives no sign is ended all the same, after a stall too")
    func hung() async throws {
        let tree = try ProgramTree("exec sleep 1000", "watchdog: 2s", intensity: 100)
        try await tree.run { daemon in
            try await daemon.program("it's ready") { $0.state == "active" }
            try await stopProcess(daemon.process)
            try await realTime(.milliseconds(500), because: "the daemon is stopped while the kernel's clock goes on")
            try daemon.process.send(.continue)
            #expect(try await daemon.program("its next life") { $0.incarnation > 1 }.lastExit == "hung")
        }
    }
}
