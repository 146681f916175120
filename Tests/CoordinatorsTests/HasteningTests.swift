import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import Glibc
import Processes
import TestSupport
import Testing

@testable import Coordinators

@Suite("Stops that are shortened, and stops of what only starts", .timeLimit(minutes: 3))
struct HasteningTests {
    /// Ignores SIGTERM, and says by its sleep that it's there.
    private static func stubborn(_ sleepers: Sleepers) -> [String] {
        ["sh", "-c", "trap '' TERM; while true; do sleep \(sleepers.seconds); done"]
    }

    @Test(
        "A program that ignores SIGTERM and a worker whose stop hook hangs, two levels deep with unlimited time, end in time when hastened",
        arguments: [Shutdown.timeout(.milliseconds(300)), .brutalKill]
    )
    func hasten(_ shutdown: Shutdown) async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        let runtime = CoordinatorRuntime(RootCoordinator.self, options: Support.options)
        try await runtime.start()
        try await runtime.startChild("a", .worker)
        try await runtime.ask(Fixture.StartProgram("near", ["sleep", "1000"]))
        _ = try await runtime.perform(.startGrandchild("stubborn", inWorker: true), at: "/a")
        _ = try await runtime.perform(.startGrandchild("stubborn-in-process", inWorker: false), at: "/a/stubborn")
        _ = try await runtime.perform(.startProgram("program", Self.stubborn(sleepers)), at: "/a/stubborn")
        try await eventually("it sleeps") { sleepers.living.count == 1 }
        let pids = try await [runtime.ask(Fixture.WhereAmI(), at: "/a"), runtime.ask(Fixture.WhereAmI(), at: "/a/stubborn")].map(\.pid)
        let processes = pids.compactMap { ProcessIdentity(processID: $0) }
        let root = try runtime.root
        // Nothing stops yet.
        root.hasten(.brutalKill)
        #expect(!processes.contains { !$0.isAlive })
        let stopping = Task { await runtime.stop() }
        try await eventually("it stops") { root.state.withLock { $0.life.phase == .stopping } }
        let begin = ContinuousClock.now
        root.hasten(shutdown)
        await stopping.value
        // The worker itself has five seconds, and its hook would take ten minutes.
        #expect(ContinuousClock.now - begin < .seconds(15))
        #expect(processes.filter(\.isAlive).isEmpty)
        #expect(sleepers.living.isEmpty)
    }

    @Test(
        "A child that is stopped again with less time ends sooner, and with more time it gets no more",
        arguments: ["program", "worker", "in-process"]
    )
    func again(_ kind: String) async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        try await withRoot { runtime in
            switch kind {
            case "program": try await runtime.ask(Fixture.StartProgram("a", Self.stubborn(sleepers)))
            default: try await runtime.startChild("a", kind == "worker" ? .worker : .inProcess, greeting: "stubborn")
            }
            let host = try #require(try runtime.root.existingChildren?.host(of: "a"))
            host.stop(.infinity)
            host.stop(.timeout(.seconds(500)))
            let begin = ContinuousClock.now
            host.stop(.timeout(.milliseconds(200)))
            host.stop(.infinity)
            try await eventually("it has ended") { try await runtime.snapshot(of: "/a").incarnation == 2 }
            #expect(ContinuousClock.now - begin < .seconds(15))
            try runtime.root.existingChildren?.host(of: "a")?.stop(.brutalKill)
            try await eventually("it has ended") { try await runtime.snapshot(of: "/a").incarnation == 3 }
            try runtime.root.existingChildren?.host(of: "a")?.stop(.brutalKill)
        }
    }

    @Test("A shortened grace ends the present step, and later steps get no more")
    func grace() async {
        let grace = Grace(nil)
        let step = Task { await grace.within { try? await untilCancelled() } }
        let begin = ContinuousClock.now
        grace.shorten(to: .milliseconds(50))
        grace.shorten(to: .seconds(50))
        #expect(await step.value == false)
        #expect(await grace.within { try? await untilCancelled() } == false)
        #expect(await grace.within {})
        #expect(ContinuousClock.now - begin < .seconds(20))
    }

    @Test("A stop during the start gives the start hook its time")
    func stopDuringStart() async throws {
        let directory = try TemporaryDirectory()
        let marker = directory.file("marker")
        try await withRoot { runtime in
            let starting = Task.immediate {
                try await runtime.ask(Fixture.StartBroken("slow", inWorker: true, how: marker), timeout: .seconds(60))
            }
            try await eventually("it starts") { directory.entries == ["marker.begun"] }
            try await runtime.stop("/slow")
            #expect(directory.entries == ["marker", "marker.begun"])
            _ = try? await starting.value
        }
    }

    @Test("Waiting for a turn to restart doesn't settle the interruption")
    func restartTokens() async {
        let tokens = RestartTokens(TokenBucket(rate: 10, burst: 1))
        let interruption = OneShot<Void>()
        for _ in 0..<3 { await tokens.wait(orUntil: interruption) }
        #expect(interruption.outcome == nil)
        interruption.settle(())
        let none = RestartTokens(TokenBucket(rate: 1, burst: 1))
        for _ in 0..<3 { await none.wait(orUntil: interruption) }
    }

    @Test("A start that fails throws an error of the library's, and a finish has one reason", arguments: Where.allCases)
    func reasons(_ place: Where) async throws {
        try await withRuntime(StarterRoot.self, options: Support.options) { runtime in
            let failure = try await runtime.ask(StarterRoot.StartWorker("false", "/bin/false"), timeout: .seconds(30))
            #expect(failure == "CoordinatorError startFailed: /false ended before it was ready: exited with code 1")
            try await runtime.ask(StarterRoot.Finish(inWorker: place.isWorker), timeout: .seconds(30))
            try await eventually("it has stopped") { try await !runtime.ask(StarterRoot.Changes()).isEmpty }
            let changes = try await runtime.ask(StarterRoot.Changes())
            #expect(
                changes.map { $0.hasSuffix("stopped(normal)") || $0.hasSuffix("stopped(Supervision.ExitReason.normal)") } == [true],
                "\(changes)"
            )
        }
    }
}
