import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Watch: automatic shutdown", .timeLimit(minutes: 3))
struct WorkerAutoShutdownTests {
    @Test(
        "A significant child that ends by itself ends its parent with shutdown, which isn't restarted",
        arguments: Where.allCases,
        Where.allCases
    )
    func anySignificant(_ place: Where, _ childPlace: Where) async throws {
        try await PageTree.run(options: Support.options.allowing(restarts: 0)) { tree in
            let parent = try await tree.start(AutoShutdownCoordinator.self, as: "parent", place, restart: .transient) {
                $0.childInWorker = childPlace.isWorker
            }
            let watching = Task.immediate { try await tree.root.watch("/parent") }
            tree.notebook.note(EndingCoordinator.line)
            let termination = try await watching.value
            #expect(termination.reason == .shutdown)
            #expect(termination.incarnation == 1)
            try await tree.isGone("/parent")
            #expect(parent.state == .inactive)
            #expect(tree.count("/parent start") == 1)
            #expect(tree.count("/parent stop") == 1)
            // Its other child has been stopped before it.
            #expect(tree.count("/parent/other stop") == 1)
            try await tree.reads("/ parent stopped")
            #expect(tree.count("/ parent crashed") == 0)
            #expect(tree.count("/ parent restarted") == 0)
        }
    }
}
