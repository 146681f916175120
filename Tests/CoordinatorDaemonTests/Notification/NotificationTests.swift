import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("What the daemon tells the program that has started it", .timeLimit(minutes: 3))
struct NotificationTests {
    private static func environment(_ socket: NotifySocket, _ more: String = "") -> String { "env NOTIFY_SOCKET=\(socket.path) \(more)" }

    @Test("It is starting until its children are ready, then it reloads and stops, in this order")
    func phases() async throws {
        let socket = try NotifySocket()
        let tree = try ProgramTree("until test -e DIR/go; do sleep 0.05; done; echo >&3; exec sleep 1000", "ready: { fd: 3 }")
        try await RunningDaemon.with(tree.text, wrapper: Self.environment(socket)) { daemon in
            try await daemon.eventually("it tells what starts, and asks for time") {
                socket.states == ["starting /p"] && socket.lines.contains("EXTEND_TIMEOUT_USEC=30000000")
            }
            #expect(socket.phases.isEmpty)
            try tree.touch("go")
            let ready = ["READY=1", "MAINPID=\(daemon.process.identity.processID)"]
            try await daemon.eventually("it is ready") { socket.phases == ready }
            #expect(socket.states.last == "1 child is active")

            #expect(try await daemon.control("config", "apply").exitCode == 0)
            try await daemon.eventually("it has reloaded") { socket.phases == ready + ["RELOADING=1", "READY=1"] }
            #expect(socket.lines.contains { $0.hasPrefix("MONOTONIC_USEC=") })
            #expect(Array(socket.states.suffix(2)) == ["applying the configuration", "1 child is active"])

            #expect(try await daemon.control("stop", "/p").exitCode == 0)
            try await daemon.eventually("it tells that a child is gone") {
                socket.states.last == "0 of 1 children are active; /p is inactive"
            }
            #expect(try await daemon.control("shutdown").exitCode == 0)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(socket.phases == ready + ["RELOADING=1", "READY=1", "STOPPING=1"])
            // Five seconds for the program, and five for the daemon.
            #expect(socket.lines.last == "EXTEND_TIMEOUT_USEC=10000000")
        }
    }

    @Test("An upgrade is a reload: it begins before operators wait, and the next program in the process tells its end")
    func upgrade() async throws {
        let socket = try NotifySocket()
        let file = "children: [{ name: p, program: { command: [sleep, '1000'] } }]"
        try await RunningDaemon.with(file, wrapper: Self.environment(socket)) { daemon in
            let ready = ["READY=1", "MAINPID=\(daemon.process.identity.processID)"]
            try await daemon.eventually("it is ready") { socket.phases == ready }
            for round in 1...2 {
                #expect(try await daemon.control("upgrade").exitCode == 0)
                let reloads = Array(repeating: ["RELOADING=1"] + ready, count: round).flatMap { $0 }
                try await daemon.eventually("it is ready again, upgrade \(round)") { socket.phases == ready + reloads }
            }
            let states = socket.states
            #expect(states.count { $0 == "another executable takes the daemon's place" } == 2)
            #expect(states.last == "1 child is active")
            #expect(socket.lines.count { $0.hasPrefix("MONOTONIC_USEC=") } == 2)

            // One that fails ends in this program. The script passes the rehearsal, and is another one when it's to take the place.
            let (script, other) = ("\(daemon.directory)/once", "\(daemon.directory)/other")
            try Files.write("#!/bin/sh\nexit 1\n", to: other, mode: 0o700)
            try Files.write(
                "#!/bin/sh\ncase \"$*\" in *--rehearse*) mv '\(other)' '\(script)' ;; esac\nexec \(RunningDaemon.coordinatord.path) \"$@\"\n",
                to: script
            )
            chmod(script, 0o700)
            let before = socket.phases
            #expect(try await daemon.control("upgrade", "--executable", script).exitCode == 1)
            try await daemon.eventually("it is ready as before") { socket.phases == before + ["RELOADING=1", "READY=1"] }
            #expect(socket.states.last == "1 child is active")
        }
    }

    @Test("A child that fails, and those that wait for it, don't hold readiness up")
    func failing() async throws {
        let socket = try NotifySocket()
        let file = """
            children:
              - { name: bad, program: { command: [sh, -c, exit 1], start_seconds: 1s }, restart_limits: { max_restarts: unlimited } }
              - { name: waiting, program: { command: [sleep, '1000'] }, after: [bad] }
              - { name: last, program: { command: [sleep, '1000'] }, after: [waiting] }
              - { name: good, children: [{ name: inner, program: { command: [sleep, '1000'] } }] }
            """
        try await RunningDaemon.with(file, wrapper: Self.environment(socket)) { daemon in
            try await daemon.eventually("it is ready") { socket.phases.first == "READY=1" }
            let state = try #require(socket.states.first { $0.contains("children are active") })
            #expect(state.hasPrefix("1 of 4 children are active; /bad is "))
            #expect(state.hasSuffix("/waiting is waiting, /last is waiting"))
        }
    }

    @Test("It gives signs of life only while operators are answered, and no child inherits its variables")
    func watchdog() async throws {
        let socket = try NotifySocket()
        let file =
            "children: [{ name: p, program: { command: [sh, -c, 'echo \"[$NOTIFY_SOCKET$WATCHDOG_USEC$WATCHDOG_PID]\"; exec sleep 1000'] } }]"
        let log = Transcript()
        let wrapper = Self.environment(socket, "WATCHDOG_USEC=600000")
        try await RunningDaemon.with(file, standardError: log.destination, wrapper: wrapper) { daemon in
            try await daemon.eventually("it gives signs again and again") { socket.signs > 3 }
            #expect(log.text.contains("[/p] []\n"))
            // Nothing can be made in place of the runtime directory.
            let run = "\(daemon.directory)/run"
            try #require(rename(run, "\(run).away") == 0)
            try Files.write("", to: run)
            try await daemon.eventually("the signs end") {
                let before = socket.signs
                try await realTime(.milliseconds(800), because: "signs come every 300 ms of the daemon's clock")
                return socket.signs == before
            }
            unlink(run)
            try #require(rename("\(run).away", run) == 0)
            let silent = socket.signs
            try await daemon.eventually("the signs go on") { socket.signs > silent + 1 }
        }
    }

    @Test("It gives signs of life while an upgrade waits for open requests and refuses all others")
    func watchdogOfUpgrade() async throws {
        let socket = try NotifySocket()
        let trap = #"trap "echo > DIR/asked; until test -e DIR/go; do sleep 0.02; done; exit 0" TERM"#
        let tree = try ProgramTree("\(trap); echo > DIR/trapped; while :; do sleep 0.02; done", "", child: "stop_timeout: 60s")
        try await RunningDaemon.with(tree.text, wrapper: Self.environment(socket, "WATCHDOG_USEC=600000")) { daemon in
            try await daemon.eventually("it is ready") {
                socket.phases.first == "READY=1" && Files.text(of: tree.directory.file("trapped")) != nil
            }
            async let stop = daemon.control("stop", "/p")
            try await daemon.eventually("a request is open") { Files.text(of: tree.directory.file("asked")) != nil }
            async let upgrade = daemon.control("upgrade", "--wait", "60s")
            try await daemon.eventually("the upgrade waits") { socket.phases.last == "RELOADING=1" }
            let before = socket.signs
            try await daemon.eventually("the signs go on") { socket.signs > before + 2 }
            #expect(socket.phases.last == "RELOADING=1")
            try tree.touch("go")
            let (stopped, upgraded) = try await (stop, upgrade)
            #expect(stopped.exitCode == 0 && upgraded.exitCode == 0, "\(stopped) \(upgraded)")
        }
    }

    @Test("A watchdog that is meant for another process gets no signs, and a receiver that is gone is no harm")
    func others() async throws {
        let socket = try NotifySocket()
        try await RunningDaemon.with("children: []", wrapper: Self.environment(socket, "WATCHDOG_USEC=300000 WATCHDOG_PID=1")) { daemon in
            try await daemon.eventually("it is ready") { socket.phases.first == "READY=1" }
            try await realTime(.seconds(1), because: "signs would come every 150 ms of the daemon's clock")
            #expect(socket.signs == 0)
        }
        try await RunningDaemon.with("children: []", wrapper: "env NOTIFY_SOCKET=/nowhere WATCHDOG_USEC=300000") { daemon in
            try await daemon.eventually("the root is active") { try await daemon.control("tree").exitCode == 0 }
        }
    }
}
