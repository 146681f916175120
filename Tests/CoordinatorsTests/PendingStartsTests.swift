import Coordinators
import Fixtures
import Synchronization
import TestSupport
import Testing

@Suite("A stop wins over starts that are under way", .timeLimit(minutes: 3))
struct PendingStartsTests {
    /// The number of starts that have succeeded.
    private final class Successes: Sendable {
        let count = Atomic(0)
    }

    private func starts(_ count: Int, _ start: @escaping @Sendable (Int) async throws -> Void) -> ([Task<Void, Never>], Successes) {
        let successes = Successes()
        let tasks = (0..<count).map { number in
            Task.immediate {
                guard (try? await start(number)) != nil else { return }
                successes.count.add(1, ordering: .relaxed)
            }
        }
        return (tasks, successes)
    }

    @Test("Hooks that ignore their cancellation become ready too late, all at the same time")
    func stubbornHooks() async throws {
        let runtime = CoordinatorRuntime(RootCoordinator.self, options: Support.options)
        try await runtime.start()
        let (tasks, successes) = starts(20) { number in
            try await runtime.ask(Fixture.StartBroken("\(number)", inWorker: false, how: "stubborn"), timeout: .seconds(60))
        }
        try await eventually("all are starting") { try await runtime.snapshot().children.count == 20 }
        await runtime.stop()
        for task in tasks { await task.value }
        #expect(successes.count.load(ordering: .relaxed) == 0)
    }

    @Test("A stop doesn't wait until workers that are still starting are ready")
    func workers() async throws {
        let directory = try TemporaryDirectory()
        let runtime = CoordinatorRuntime(RootCoordinator.self, options: Support.options.with { $0.runtimeDirectory = directory.path })
        try await runtime.start()
        // Every second one would take ten minutes; the others may be ready just before the stop begins.
        let (quick, _) = starts(10) { number in _ = try await runtime.startChild("quick-\(number)", .worker) }
        let (slow, successes) = starts(10) { number in
            try await runtime.ask(Fixture.StartBroken("slow-\(number)", inWorker: true, how: "hang"), timeout: .seconds(600))
        }
        try await eventually("all are starting") { try await runtime.snapshot().children.count == 20 }
        await runtime.stop()
        for task in quick + slow { await task.value }
        #expect(successes.count.load(ordering: .relaxed) == 0)
        #expect(directory.entries.isEmpty)
    }
}
