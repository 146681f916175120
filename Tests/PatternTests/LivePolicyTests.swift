import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Workers: live change of policy", .timeLimit(minutes: 1))
struct LivePolicyTests {
    @Test("A replaced policy judges the next failure", arguments: Where.allCases)
    func change(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.step("child", place)
            try await tree.fails("child", life: 2)
            try tree.root.supervise(by: SupervisionPolicy(.oneForOne, intensity: 0, period: .seconds(60)))
            _ = try? await tree.perform(.fail, at: child.path)
            // At the root of the tree a child over the intensity fails alone.
            try await eventually("it's given up") { child.state == .failed }
            #expect(throws: SupervisionError.self) { try tree.root.supervise(by: SupervisionPolicy(intensity: -1)) }
        }
    }
}

extension PageTree {
    fileprivate func fails(_ key: String, life: UInt32) async throws {
        let child = try #require(root.child(key, as: StepCoordinator.self))
        _ = try? await perform(.fail, at: child.path)
        try await reaches(.active, at: child.path, incarnation: life)
    }
}
