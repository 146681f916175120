import ConcurrencySupport
import Coordinators
import Fixtures
import Logging
import Processes
import ServiceLifecycle
import TestSupport
import Testing

@Suite("The end of a runtime", .timeLimit(minutes: 2))
struct RuntimeEndTests {
    @Test("A tree ends with the last reference to its runtime, and its processes too")
    func dropped() async throws {
        var runtime: CoordinatorRuntime? = CoordinatorRuntime(RootCoordinator.self, options: Support.options)
        try await runtime?.start()
        try await runtime?.startChild("child", .worker)
        let child = try #require(try await runtime?.snapshot(of: "/child"))
        let process = ProcessIdentity(processID: try #require(child.processID), startTime: try #require(child.processStartTime))
        #expect(process.isAlive)
        runtime = nil
        try await eventually("the worker has ended") { !process.isAlive }
    }

    @Test("A stop at any moment of the start leaves nothing")
    func stoppedWhileStarting() async throws {
        for delay in 0..<40 {
            let runtime = CoordinatorRuntime(RootCoordinator.self, options: Support.options) { $0.children = ["a", "b"] }
            let start = Task { try await runtime.start() }
            for _ in 0..<delay { await Task.yield() }
            await runtime.stop()
            // One that comes too late is a second one.
            _ = await start.result
            await runtime.stop()
            try await eventually("nothing is left") { runtime.counters.coordinators == 0 }
            await #expect(throws: CoordinatorError.self) { try await runtime.snapshot() }
        }
    }

    /// The ways in which a runtime is ended.
    enum End: Codable, CaseIterable { case stop, cancellation, gracefulShutdown }

    /// A root whose start takes until it's cancelled, by the way in which that happens.
    private actor Slow: Coordinator {
        struct Configuration: CoordinatorConfiguration { var end = End.stop }

        static let ended = Lock<[End]>([])

        nonisolated let context: Context
        init(_ context: Context) { self.context = context }

        func start() async throws {
            defer { Self.ended.withLock { $0.append(context.configuration.end) } }
            try await untilCancelled()
        }
    }

    @Test("The end of a runtime ends the root's start, and waits for that", arguments: End.allCases)
    func stoppedInItsStart(_ end: End) async throws {
        let runtime = CoordinatorRuntime(Slow.self, options: Support.options) { $0.end = end }
        var ends: Int { Slow.ended.withLock { $0.count { $0 == end } } }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let service = ServiceGroupConfiguration.ServiceConfiguration(
            service: runtime,
            successTerminationBehavior: .gracefullyShutdownGroup
        )
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [service], logger: logger))
        let running = Task { if end == .gracefulShutdown { try await group.run() } else { try await runtime.run() } }
        try await eventually("it starts") { runtime.counters.coordinators == 1 }
        switch end {
        case .stop:
            await runtime.stop()
            #expect(ends == 1)
        case .cancellation: running.cancel()
        case .gracefulShutdown: await group.triggerGracefulShutdown()
        }
        let result = await running.result
        if end != .stop { try result.get() }
        #expect(ends == 1)
        try await eventually("nothing is left") { runtime.counters.coordinators == 0 }
        await #expect(throws: CoordinatorError.self) { try await runtime.run() }
    }

    @Test("Every caller that stops a runtime waits until nothing is left of it")
    func stoppedTwice() async throws {
        let runtime = CoordinatorRuntime(RootCoordinator.self, options: Support.options)
        try await runtime.start()
        try await runtime.startChild("child", .worker)
        let child = try await runtime.snapshot(of: "/child")
        let process = ProcessIdentity(processID: try #require(child.processID), startTime: try #require(child.processStartTime))
        #expect(!runtime.hasten(.brutalKill))
        #expect(process.isAlive)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    await runtime.stop()
                    return process.isAlive
                }
            }
            for await isAlive in group { #expect(!isAlive) }
        }
        await #expect(throws: CoordinatorError.self) { try await runtime.snapshot() }
    }
}
