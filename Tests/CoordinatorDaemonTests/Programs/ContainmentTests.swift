import Control
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("Programs with their descendants, and what they may have", .timeLimit(minutes: 2))
struct ContainmentTests {
    @Test("A program whose workers take more memory than it may have is ended and started again, which counts against no limit")
    func memory() async throws {
        // Not the shell but what it starts has the memory.
        let tree = try ProgramTree(
            "python3 -c \"import time; b = bytearray(80 << 20); time.sleep(1000)\" & wait",
            "memory_max: 40MiB",
            intensity: 0
        )
        try await tree.run { daemon in
            let node = try await daemon.program("it's started again") { $0.incarnation >= 3 && $0.lastExit != nil }
            #expect(node.lastExit?.contains("more than its limit of 41943040") == true, "\(node)")
        }
    }

    @Test("Of a program with workers `ps` and `top` show the sum; one that ends with its input goes on with an open one")
    func sums() async throws {
        let tree = try ProgramTree(
            "python3 -c \"import time; b = bytearray(80 << 20); open(\\\"DIR/up\\\", \\\"w\\\"); time.sleep(1000)\" & exec cat",
            "stdin: open\noom_score_adj: 500"
        )
        try await tree.run { daemon in
            try await daemon.eventually("the worker has its memory") { Files.text(of: tree.directory.file("up")) != nil }
            let node = try await daemon.program("it runs") { $0.state == "active" }
            let list = try ControlJSON.parse(Array(try await daemon.control("--json", "ps").output.utf8))
            let entry = try #require(list["processes"]?.arrayValue?.first { $0["path"] == "/p" })
            #expect(entry["process_count"] == 2 && (entry["memory_bytes"]?.integerValue ?? 0) > 80 << 20, "\(entry)")
            let top = try ControlJSON.parse(Array(try await daemon.control("--json", "top", "--once", "--interval", "100ms").output.utf8))
            let row = try #require(top["coordinators"]?.arrayValue?.first { $0["path"] == "/p" })
            #expect((row["memory_bytes"]?.integerValue ?? 0) > 80 << 20, "\(row)")
            #expect(Files.text(of: "/proc/\(node.pid ?? 0)/oom_score_adj") == "500\n")
            #expect(node.restarts == 0 && node.incarnation == 1)
        }
    }

    @Test("Limits that no control group can hold fail the start, with the reason and what to do")
    func limits() async throws {
        let tree = try ProgramTree("exec sleep 1000", "limits: { memory: 64MiB, pids: 10 }", intensity: 0)
        try await tree.run { daemon in
            let node = try await daemon.program("it runs, or has failed") { ["active", "failed"].contains($0.state) }
            if node.state == "active" {
                // The daemon may make groups here.
                #expect(Files.text(of: "/proc/\(node.pid ?? 0)/cgroup")?.contains("coordinators-") == true)
            } else {
                print("NOT TESTED: limits of a daemon's program: \(node.lastExit ?? "")")
                #expect(node.lastExit?.contains("can't be held") == true && node.lastExit?.contains("Delegate=yes") == true, "\(node)")
            }
        }
    }
}
