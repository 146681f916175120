import Control
import Processes
import TestSupport
import Testing

@Suite("A shutdown that takes too long", .timeLimit(minutes: 3))
struct ShutdownTests {
    /// The kinds of children that ignore a stop and have unlimited time: a program, and a worker whose stop hook hangs.
    enum Stubborn: String, CaseIterable {
        case program, worker

        var tree: String {
            switch self {
            case .program: SignalTests.stubborn
            case .worker:
                """
                children:
                  - name: stubborn
                    worker: { executable: FIXTURE, coordinator: MiddleCoordinator, configuration: { greeting: stubborn } }
                    stop_timeout: infinity
                """
            }
        }
    }

    @Test("A shutdown that hangs can be inspected, and ends when the hanging process is killed", arguments: Stubborn.allCases)
    func killed(_ stubborn: Stubborn) async throws {
        try await Self.whileStopping(stubborn) { daemon in
            let node = try await daemon.node("/stubborn")
            #expect(node.state == "stopping")
            #expect(try await daemon.control("tree").exitCode == 0)
            #expect(try await daemon.control("ps").exitCode == 0)
            #expect(try await daemon.control("kill", "/stubborn").exitCode == 0)
        }
    }

    @Test(
        "A second shutdown gives the processes that still run one second, and shutdown --now kills them",
        arguments: Stubborn.allCases,
        [["shutdown"], ["shutdown", "--now"]]
    )
    func second(_ stubborn: Stubborn, _ command: [String]) async throws {
        try await Self.whileStopping(stubborn) { daemon in
            let ended = try await daemon.control(command)
            #expect(ended.exitCode == 0)
        }
    }

    @Test("shutdown --now needs no shutdown before it", arguments: Stubborn.allCases)
    func atOnce(_ stubborn: Stubborn) async throws {
        try await RunningDaemon.with(stubborn.tree) { daemon in
            let children = try await daemon.children(1)
            #expect(try await daemon.control("shutdown", "--now").exitCode == 0)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
            #expect(children.filter(\.isAlive).isEmpty)
        }
    }

    /// Begins a shutdown that would last forever, and checks that the body ends it.
    private static func whileStopping(_ stubborn: Stubborn, _ body: (RunningDaemon) async throws -> Void) async throws {
        try await RunningDaemon.with(stubborn.tree) { daemon in
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
