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

    @Test("Failures are only shown where the file says so, and operators see them")
    func reported() async throws {
        let keys = "health: { command: [test, -e, DIR/ok], interval: 50ms, retries: 1, timeout: 20s, on_failure: report }"
        let tree = try ProgramTree("exec sleep 1000", keys)
        try await tree.run { daemon in
            let node = try await daemon.program("it's unhealthy") { ($0.health?.failures ?? 0) > 3 }
            #expect(node.state == "active")
            #expect(node.incarnation == 1)
            #expect(try await daemon.control("tree").output.contains("active, unhealthy ("))
            let status = try await daemon.control("status", "/p").output
            #expect(status.contains("failed checks: test exited with code 1"), "\(status)")
            try tree.touch("ok")
            try await daemon.program("it's healthy") { $0.health?.healthy == true && $0.incarnation == 1 }
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
