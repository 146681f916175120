import Control
import Processes
import TestSupport
import Testing

@Suite("A shutdown that takes too long", .timeLimit(.minutes(3)))
struct ShutdownTests {
    @Test("It can be looked at, and ended by killing what hangs")
    func killed() async throws {
        try await Self.whileStopping { daemon in
            let node = try await daemon.node("/stubborn")
            #expect(node.state == "stopping")
            #expect(try await daemon.control("tree").exitCode == 0)
            #expect(try await daemon.control("ps").exitCode == 0)
            #expect(try await daemon.control("kill", "/stubborn").exitCode == 0)
        }
    }

    @Test("shutdown --now kills what still runs")
    func now() async throws {
        try await Self.whileStopping { daemon in
            let ended = try await daemon.control("shutdown", "--now")
            #expect(ended.exitCode == 0)
        }
    }

    @Test("A second shutdown leaves it a second")
    func second() async throws {
        try await Self.whileStopping { daemon in
            let ended = try await daemon.control("shutdown")
            #expect(ended.exitCode == 0)
        }
    }

    @Test("shutdown --now needs no shutdown before it")
    func atOnce() async throws {
        try await RunningDaemon.with(SignalTests.stubborn) { daemon in
            let children = try await daemon.children(1)
            #expect(try await daemon.control("shutdown", "--now").exitCode == 0)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(children.filter(\.isAlive).isEmpty)
        }
    }

    /// Begins a shutdown that would last for ever, and sees that the body ends it.
    private static func whileStopping(_ body: (RunningDaemon) async throws -> Void) async throws {
        try await RunningDaemon.with(SignalTests.stubborn) { daemon in
            let children = try await daemon.children(1)
            async let first = daemon.control("shutdown")
            try await daemon.eventually("it's stopping") { try await daemon.tree().state == "stopping" }
            #expect(children.filter(\.isAlive) == children)
            try await body(daemon)
            #expect(try await first.exitCode == 0)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(children.filter(\.isAlive).isEmpty)
        }
    }
}
