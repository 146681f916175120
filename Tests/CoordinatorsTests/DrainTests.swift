import ConcurrencySupport
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

@testable import Coordinators

@Suite("Waiting until every message is handled", .timeLimit(minutes: 3))
struct DrainTests {
    @Test("It ends with the last handler below, whichever way that ends", arguments: [Where.inProcess, .worker])
    func endsWithTheLast(_ place: Where) async throws {
        try await withRuntime(RootCoordinator.self, options: Support.options) { runtime in
            try await runtime.startChild("a", place)
            let root = try runtime.root
            let children = try #require(root.existingChildren)
            // Nothing is under way: it ends at once.
            await root.waitUntilHandled()
            let asks = (0..<3).map { _ in
                Task { try await runtime.ask(Fixture.Do(.waitAbove(milliseconds: 60_000)), at: "/a", timeout: .seconds(60)) }
            }
            try await eventually("the asks have been taken") { children.isBusy }
            let isOver = OneShot<Void>()
            let drain = Task {
                await root.waitUntilHandled()
                isOver.settle(())
            }
            for ask in asks.dropLast() { ask.cancel() }
            for ask in asks.dropLast() { _ = await ask.result }
            let isEarly = isOver.outcome != nil
            #expect(!isEarly)
            #expect(children.isBusy)
            asks.last?.cancel()
            await drain.value
            #expect(!children.isBusy)
        }
    }

    @Test("It ends with the coordinator that it waits for")
    func endsWithTheCoordinator() async throws {
        try await withRuntime(RootCoordinator.self, options: Support.options) { runtime in
            try await runtime.startChild("a", .inProcess)
            let host = try #require(try runtime.root.existingChildren?.hosts.first)
            let ask = Task { try await runtime.ask(Fixture.Do(.waitAbove(milliseconds: 60_000)), at: "/a", timeout: .seconds(60)) }
            try await eventually("the ask has been taken") { host.isBusy }
            let drain = Task { await host.waitUntilHandled() }
            _ = try await runtime.stop("/a")
            await drain.value
            _ = await ask.result
        }
    }
}
