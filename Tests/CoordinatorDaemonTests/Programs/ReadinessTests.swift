import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The readiness of a program", .timeLimit(minutes: 3))
struct ReadinessTests {
    private static let hasNotify = access("/usr/bin/systemd-notify", X_OK) == 0
    private static let untilGo = "until test -e DIR/go; do sleep 0.05; done; "

    @Test(
        "A program is starting until it has shown that it's ready, in each of the ways",
        arguments: [
            ("\(untilGo)echo >&3; exec sleep 1000", "ready: { fd: 3 }"),
            ("exec sleep 1000", "ready: { command: [test, -e, DIR/go], interval: 50ms }"),
            ("echo not ready; \(untilGo)printf \\ re; echo ady >&2; exec sleep 1000", "ready: { log: '^ ?ready$' }"),
            ("\(untilGo)exec $SERVE", "ready: { http: \"http://127.0.0.1:PORT/\", interval: 50ms }\nenvironment: { SERVE: \"SERVER\" }"),
            ("\(untilGo)exec $SERVE", "ready: { tcp: PORT, interval: 50ms }\nenvironment: { SERVE: \"SERVER\" }"),
        ]
    )
    func ways(script: String, keys: String) async throws {
        let server = "python3 -m http.server --bind 127.0.0.1 PORT"
        let keys = keys.replacing("SERVER", with: server).replacing("PORT", with: "\(try FreePort.find())")
        let tree = try ProgramTree(script, keys)
        try await tree.run { daemon in
            try await daemon.program("it runs") { $0.pid != nil }
            #expect(try await daemon.node("/p").state == "starting")
            try tree.touch("go")
            let node = try await daemon.program("it's ready") { $0.state == "active" }
            #expect(node.incarnation == 1)
            // A restart waits for the readiness.
            tree.remove("go")
            async let restart = daemon.control("restart", "/p")
            try await daemon.program("the next life") { $0.incarnation == 2 && $0.pid != nil }
            #expect(try await daemon.node("/p").state != "active")
            try tree.touch("go")
            #expect(try await restart.exitCode == 0)
        }
    }

    @Test(
        "systemd-notify tells that a program is ready, and its state, also from another user",
        .enabled(if: hasNotify, "needs /usr/bin/systemd-notify"),
        arguments: geteuid() == 0 ? ["", "user: nobody\ndirectory: /"] : [""]
    )
    func notify(user: String) async throws {
        let script = "\(Self.untilGo)systemd-notify --ready --status=\"serving 3 of 4\"; exec sleep 1000"
        let tree = try ProgramTree(script, "ready: notify\n\(user)")
        try await tree.run { daemon in
            // The directory of the test is private.
            chmod(daemon.directory, 0o711)
            try await daemon.program("it runs") { $0.pid != nil }
            #expect(try await daemon.node("/p").state == "starting")
            try tree.touch("go")
            try await daemon.program("it's ready") { $0.state == "active" && $0.statusText == "serving 3 of 4" }
            #expect(try await daemon.control("status", "/p").output.contains("serving 3 of 4"))
            #expect(try await daemon.control("stop", "/p").exitCode == 0)
            #expect(Files.names(in: "\(daemon.directory)/run").filter { $0.hasSuffix(".notify") }.isEmpty)
            #expect(try await daemon.node("/p").statusText == nil)
        }
    }

    @Test("A program that isn't ready in time is ended, and its start has failed")
    func late() async throws {
        let script = "trap \"\" TERM; exec sleep 1000"
        let tree = try ProgramTree(script, "ready: notify\nstart_timeout: 300ms", child: "stop_timeout: 100ms", intensity: 1)
        try await tree.run { daemon in
            let node = try await daemon.program("given up") { $0.state == "failed" }
            #expect(node.incarnation == 2)
            #expect(node.lastExit == "was not ready in time")
            #expect(try await daemon.processes().isEmpty)
            #expect(try await daemon.control("start", "/p").exitCode != 0)
        }
    }

    @Test("A program that asks for more time gets it", .enabled(if: hasNotify, "needs /usr/bin/systemd-notify"))
    func extended() async throws {
        let script = "systemd-notify EXTEND_TIMEOUT_USEC=3600000000; echo asked; \(Self.untilGo)systemd-notify --ready; exec sleep 1000"
        let tree = try ProgramTree(script, "ready: notify\nstart_timeout: 4s")
        let log = Transcript()
        try await tree.run(log) { daemon in
            try await daemon.eventually("it has asked") { log.text.contains("[/p] asked") }
            try await realTime(.seconds(4), because: "the daemon's clock counts the time to start")
            #expect(try await daemon.node("/p").incarnation == 1)
            try tree.touch("go")
            try await daemon.program("it's ready") { $0.state == "active" && $0.incarnation == 1 }
        }
    }

    @Test("A program that ends before it's ready has failed, and one that starts can be stopped")
    func ended() async throws {
        let failing = try ProgramTree("exit 0", "ready: { fd: 5 }", child: "restart: on_failure", intensity: 1)
        try await failing.run { daemon in
            let node = try await daemon.program("given up") { $0.state == "failed" }
            #expect(node.lastExit == "exited with code 0")
        }
        let slow = try ProgramTree("exec sleep 1000", "ready: { fd: 5 }")
        try await slow.run { daemon in
            try await daemon.program("it runs") { $0.pid != nil }
            #expect(try await daemon.control("stop", "/p").exitCode == 0)
            #expect(try await daemon.node("/p").state == "inactive")
            #expect(try await daemon.processes().isEmpty)
        }
    }

    @Test("A program that gives no sign of life any more is restarted", .enabled(if: hasNotify, "needs /usr/bin/systemd-notify"))
    func watchdog() async throws {
        let script = "echo every $WATCHDOG_USEC; while test ! -e DIR/mute; do systemd-notify WATCHDOG=1; sleep 0.1; done; exec sleep 1000"
        let tree = try ProgramTree(script, "watchdog: 4s")
        let log = Transcript()
        try await tree.run(log) { daemon in
            try await daemon.program("it's ready") { $0.state == "active" }
            try await realTime(.seconds(5), because: "the daemon's clock counts the time between signs of life")
            #expect(try await daemon.node("/p").incarnation == 1)
            try tree.touch("mute")
            let node = try await daemon.program("its next life") { $0.incarnation == 2 }
            #expect(node.lastExit == "hung")
            #expect(log.text.contains("[/p] every 4000000\n"))
        }
    }
}
