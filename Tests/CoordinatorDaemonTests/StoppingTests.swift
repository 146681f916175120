import Control
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("A child that is stopping", .timeLimit(minutes: 3))
struct StoppingTests {
    private static let tree = """
        children:
          - name: slow
            program: { command: [sh, -c, "trap '' TERM; while :; do sleep 0.1; done"] }
            stop_timeout: 60s
          - name: quick
            program: { command: [sleep, "1000"] }
        """

    @Test("shows since when, for people and programs, until it has ended")
    func since() async throws {
        try await RunningDaemon.with(Self.tree) { daemon in
            try await daemon.eventually("both run") {
                let tree = try await daemon.tree()
                return tree.children.map(\.state) == ["active", "active"]
            }
            #expect(try await daemon.node("/slow").stoppingMilliseconds == nil)
            async let stopped = daemon.control("stop", "/slow")
            try await daemon.eventually("it stops") { try await daemon.node("/slow").state == "stopping" }
            let first = try #require(try await daemon.node("/slow").stoppingMilliseconds)
            try await daemon.eventually("the time goes on") { try await daemon.node("/slow").stoppingMilliseconds ?? 0 > first + 1_000 }
            // Another request to stop doesn't begin the time anew.
            async let again = daemon.control("stop", "/slow")
            try await daemon.eventually("it is still counted") { try await daemon.node("/slow").stoppingMilliseconds ?? 0 > first + 1_300 }
            for command in [["ps"], ["tree"], ["status", "/slow"], ["top", "--once", "--interval", "100ms"]] {
                let output = try await daemon.control(command).output
                #expect(output.contains("stopping for "), "\(command): \(output)")
            }
            let list = try ControlJSON.decode(ProcessList.self, from: try await daemon.call(.ps))
            let entries = Dictionary(uniqueKeysWithValues: list.processes.map { ($0.path, $0.stoppingMilliseconds) })
            #expect((entries["/slow"] ?? nil) ?? 0 > first && entries["/quick"] == .some(nil))
            #expect(try await daemon.control("top", "--once", "--interval", "100ms", "--json").output.contains("\"stopping_ms\":"))

            #expect(try await daemon.control("kill", "/slow").exitCode == 0)
            _ = try await (stopped, again)
            #expect(try await daemon.node("/slow").state == "inactive")
            #expect(try await daemon.node("/slow").stoppingMilliseconds == nil)
            // The next life begins without it.
            #expect(try await daemon.control("start", "/slow").exitCode == 0)
            #expect(try await daemon.node("/slow").stoppingMilliseconds == nil)
            #expect(try await daemon.control("kill", "/slow").exitCode == 0)
        }
    }
}
