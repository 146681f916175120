import Coordinators
import Fixtures
import TestSupport

/// The chain of these tests: the root in the test's process, the middle below it, the leaf below that.
extension LifecycleTree {
    /// The middle lives where the test says, and so does the leaf: three processes, or one.
    func startChain(_ place: Where) async throws {
        let middle = try await context.start(ClimbMiddle.self, as: "middle", in: place.placement)
        _ = try await middle.ask(Climb.Do(.startLeaf("leaf", inWorker: place.isWorker)), timeout: .seconds(30))
    }

    /// Makes the leaf ask, or the coordinator at the path.
    func climb(_ action: Climb.Action, at path: CoordinatorPath = "/middle/leaf") async throws -> String {
        try await runtime.ask(Climb.Do(action), at: path, timeout: .seconds(60))
    }
}
