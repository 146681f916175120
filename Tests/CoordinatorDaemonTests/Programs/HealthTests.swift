import Control
import Glibc
import Processes
import TestSupport
import Testing

@Suite("The health of a program", .timeLimit(minutes: 3))
struct HealthTests {
    @Test("A program whose command fails again and again is restarted, which counts as a failure")
    func command() async throws {
        let tree = try ProgramTree("exec sleep 1000", "health: { command: [test, -e, DIR/ok], interval: 50ms, retries: 3, timeout: 20s }")
        try tree.touch("ok")
        try await tree.run { daemon in
            try await daemon.program("it's healthy") { $0.health?.healthy == true }
            tree.remove("ok")
            let node = try await daemon.program("its next life") { $0.incarnation > 1 }
            #expect(node.restarts >= 1)
            #expect(node.lastExit == "failed: unhealthy: test exited with code 1")
            try tree.touch("ok")
            try await daemon.program("it's healthy again") { $0.state == "active" && $0.health?.healthy == true }
        }
    }

    /// Where an operator or a program looks, what is shown there of an unhealthy program, and the command's exit code.
    private static let frontEnds: [(arguments: [String], shows: String, exitCode: Int32?)] = [
        (["status", "/p"], "test exited with code 1", 5), (["status", "--json", "/p"], #""state":"unhealthy""#, 5),
        (["tree"], "unhealthy (", 0), (["tree", "--json"], #""state":"unhealthy""#, 0), (["ps"], "unhealthy", 0),
        (["events"], "  unhealthy  /p", 0), (["top", "--once", "--interval", "100ms"], "unhealthy", 0), (["doctor"], "/p unhealthy (", nil),
    ]

    @Test("A program whose check fails too often in a row is unhealthy in every front-end, and healthy again by one success")
    func state() async throws {
        let keys = "health: { command: [test, -e, DIR/ok], interval: 50ms, retries: 3, timeout: 20s, on_failure: report }"
        let tree = try ProgramTree("exec sleep 1000", keys)
        let log = Transcript()
        // The command by which Kubernetes asks, as it's shipped.
        let kubernetes = try #require(Files.text(of: "\(Files.packageRoot)/Deploy/kubernetes/coordinatord.yaml"))
        let probes = kubernetes.matches(of: /command: \["coordinatorctl", "status", "\/clock"\]/)
        #expect(probes.count == 1 && kubernetes.contains("readinessProbe"))
        try tree.touch("ok")
        try await tree.run(log) { daemon in
            try await daemon.program("it's healthy") { $0.health?.healthy == true }
            tree.remove("ok")
            let node = try await daemon.program("it's unhealthy") { $0.state == "unhealthy" }
            #expect(node.incarnation == 1 && node.health.map { !$0.healthy && $0.failures >= 3 } == true)
            #expect(node.uptimeMilliseconds > 0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (arguments, shows, exitCode) in Self.frontEnds {
                    group.addTask {
                        let ended = try await daemon.control(arguments)
                        #expect(ended.output.contains(shows), "\(arguments): \(ended.output)\(ended.errors)")
                        if let exitCode { #expect(ended.exitCode == exitCode, "\(arguments)") }
                    }
                }
                try await group.waitForAll()
            }
            // What the daemon writes at SIGQUIT is the tree too.
            try daemon.process.send(Signal(rawValue: SIGQUIT))
            try await daemon.eventually("the daemon's log has the state") { log.text.contains("state=unhealthy") }
            try tree.touch("ok")
            try await daemon.program("it's healthy again") { $0.state == "active" && $0.health?.healthy == true && $0.incarnation == 1 }
            #expect(try await daemon.control("status", "/p").exitCode == 0)
            let events = try await daemon.control("events").output.split(separator: "\n")
            let kinds = events.filter { $0.contains("  /p ") }.compactMap { $0.split(separator: " ").dropFirst(2).first }
            #expect(kinds.filter { $0.hasSuffix("healthy") } == ["healthy", "unhealthy", "healthy"], "\(kinds)")
            #expect(log.text.contains("a program is unhealthy") && log.text.contains("a program is healthy again"))
        }
    }

    @Test("What a check writes is shown as its problem, and isn't in the program's log")
    func output() async throws {
        let keys = """
            health: { command: [sh, -c, "echo no route; echo more >&2; exit 2"], interval: 20ms, retries: 1, on_failure: report }
            """
        let tree = try ProgramTree("echo mine; exec sleep 1000", keys)
        try await tree.run { daemon in
            try await daemon.program("it's unhealthy") { $0.health?.problem == "sh exited with code 2: no route" }
            try await daemon.program("many checks") { ($0.health?.failures ?? 0) > 5 }
            let lines = try await daemon.control("logs", "/p").output
            #expect(lines.contains("mine") && !lines.contains("no route") && !lines.contains("more"), "\(lines)")
        }
    }

    @Test("A server is asked by HTTP or only for a connection", arguments: ["http: 'http://127.0.0.1:PORT/health'", "tcp: PORT"])
    func server(probe: String) async throws {
        let server = try SmallServer("HTTP/1.0 200 OK\r\n\r\n")
        let probe = probe.replacing("PORT", with: "\(server.port)")
        let tree = try ProgramTree("exec sleep 1000", "health: { \(probe), interval: 50ms, timeout: 20s, on_failure: report }")
        try await tree.run { daemon in
            try await daemon.program("it's healthy") { $0.health?.healthy == true }
            if probe.hasPrefix("http") {
                server.answer("HTTP/1.0 500 No\r\n\r\n")
                try await daemon.program("a bad status") { $0.health?.problem == "HTTP status 500" }
            }
            server.close()
            try await daemon.program("no server") { $0.health?.problem == "Connection refused" }
        }
    }

    @Test("Failures don't count within the start period, nor while the program is paused")
    func notCounted() async throws {
        let keys = "health: { command: [sh, -c, \"touch DIR/asked; exit 1\"], interval: 20ms, retries: 1, timeout: 20s, start_period: 1h }"
        let tree = try ProgramTree("exec sleep 1000", keys)
        try await tree.run { daemon in
            for _ in 0..<3 {
                tree.remove("asked")
                try await daemon.eventually("a check") { Files.names(in: tree.directory.path).contains("asked") }
            }
            let node = try await daemon.node("/p")
            #expect(node.incarnation == 1)
            #expect(node.health == nil)
            #expect(try await daemon.control("pause", "/p").exitCode == 0)
        }
    }

    @Test("A check that hangs is ended in time, and with the program, and leaves nothing")
    func hangs() async throws {
        let keys = "health: { command: [sh, -c, \"sleep 1000 & wait\"], interval: 20ms, retries: 1, timeout: 200ms, on_failure: report }"
        let tree = try ProgramTree("exec sleep 1000", "\(keys)\nenvironment: { HUNG: DIR }")
        try await tree.run { daemon in
            try await daemon.program("the check has been ended") { $0.health?.problem?.hasPrefix("no end within") == true }
            #expect(try await daemon.control("stop", "/p").exitCode == 0)
            try daemon.process.send(.terminate)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
        }
        let mark = "HUNG=\(tree.directory.path)"
        let left = Files.numbers(in: "/proc").filter { Files.text(of: "/proc/\($0)/environ")?.contains(mark) == true }
        #expect(left.isEmpty)
    }
}
