import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Regression: lives and their ends", .timeLimit(minutes: 3))
struct RegressionLifecycleTests {
    @Test("A scene is closed when its coordinator won't start", arguments: Where.allCases)
    func refusingScene(_ place: Where) async throws {
        try await PageTree.run { tree in
            await #expect(throws: (any Error).self) {
                try await tree.start(ResourceCoordinator.self, as: "lamp", place) { $0.refuses = true }
            }
            // The stop hook is for those whose start has succeeded.
            #expect(tree.notebook.words(at: "/lamp") == ["lit", "closed"])
            #expect(tree.root.children.isEmpty)
        }
    }

    @Test("The pages of a worker below a worker are gone with the inner one")
    func innerPages() async throws {
        try await PageTree.run { tree in
            tree.root.show(.list)
            try await tree.step("outer", .worker)
            try await tree.step("inner", below: "/outer", .worker)
            try await tree.step("leaf", below: "/outer/inner", .inProcess) { $0.pagesAtStart = [.product(1), .product(2)] }
            try await tree.shows(["/ list", "/outer/inner/leaf product(1)", "/outer/inner/leaf product(2)"])
            // The one between has never shown a page itself, and has to take theirs away.
            _ = try await tree.runtime.kill("/outer/inner")
            try await tree.shows(["/ list"])
            try await tree.reads("/ popped list")
            try await tree.reaches(.active, at: "/outer/inner", incarnation: 2)
            try await tree.step("leaf", below: "/outer/inner", .inProcess) { $0.pagesAtStart = [.product(3)] }
            try await tree.shows(["/ list", "/outer/inner/leaf product(3)"])
        }
    }

    @Test("A child that takes the key of a stopped run lives", arguments: Where.allCases)
    func successorOfStopped(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            for _ in 0..<place.rounds {
                let running = Task.immediate { try await tree.context.run(LifeChild.self, as: "a", in: place.placement) }
                try await eventually("it runs") { tree.context.child("a")?.state == .active }
                try await tree.context.remove("a")
                let successor = try await tree.startChild("a", place)
                await Support.expect(.stopped) { _ = try await running.value }
                try #require(successor.state == .active)
                try #require(try await successor.perform(.echo("alive")) == "alive")
                await successor.remove()
            }
            #expect(tree.context.children.isEmpty)
        }
    }

    @Test("A child that takes the key of a failed run lives", arguments: Where.allCases)
    func successorOfFailed(_ place: Where) async throws {
        try await LifecycleTree.run { tree in
            for _ in 0..<place.rounds {
                let running = Task.immediate {
                    try await tree.context.run(LifeChild.self, as: "a", in: place.placement) { $0.opening = .refuses }
                }
                // Two at once: one may join the start that fails, or come after it.
                var successor = try? await tree.startChild("a", place)
                await #expect(throws: (any Error).self) { try await running.value }
                if successor == nil { successor = try await tree.startChild("a", place) }
                try #require(successor?.state == .active)
                try #require(try await successor?.perform(.echo("alive")) == "alive")
                await successor?.remove()
            }
            #expect(tree.context.children.isEmpty)
        }
    }
}
