import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("Pattern: scenes", .timeLimit(minutes: 3))
struct SceneTests {
    @Test("A scene coordinator has exactly one resource, made at init and closed at stop", arguments: Where.allCases)
    func lifetime(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.lamp(place)
            let isLit = try await child.ask(ResourceCoordinator.IsLit(), timeout: .seconds(15))
            #expect(isLit)
            try await tree.root.remove("lamp")
            let words = tree.notebook.words(at: "/lamp")
            #expect(words.prefix(2) == ["lit", "start"])
            #expect(words.dropFirst(2).sorted() == ["closed", "stop"])
        }
    }

    @Test("A coordinator whose resource dies requests dismissal", arguments: Where.allCases)
    func death(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.lamp(place)
            _ = try? await child.ask(ResourceCoordinator.BurnOut(), timeout: .seconds(15))
            try await tree.reads("/ lamp asked to go")
            try await tree.isGone("/lamp")
            try await tree.reads("/lamp stop")
            // Dismissed, not failed: it isn't started again.
            #expect(tree.count("/lamp lit") == 1)
        }
    }

    @Test("A parent may keep a coordinator whose resource is dead", arguments: Where.allCases)
    func kept(_ place: Where) async throws {
        try await PageTree.run(configure: { $0.decision = .refuse }) { tree in
            let child = try await tree.lamp(place)
            try await child.ask(ResourceCoordinator.BurnOut(), timeout: .seconds(15))
            try await tree.reads("/ lamp asked to go")
            let isLit = try await child.ask(ResourceCoordinator.IsLit(), timeout: .seconds(15))
            #expect(!isLit)
            #expect(child.state == .active)
            #expect(child.incarnation == 1)
        }
    }

    @Test("A stop that closes the resource doesn't request dismissal", arguments: Where.allCases)
    func stopAsksNothing(_ place: Where) async throws {
        try await PageTree.run { tree in
            for round in 1...3 {
                let child = try await tree.lamp(place)
                try await tree.root.remove("lamp")
                try await tree.reads("/lamp closed", times: round)
                #expect(child.state == .inactive)
            }
            #expect(tree.count("/ lamp asked to go") == 0)
        }
    }

    @Test("A new incarnation has a new resource", arguments: Where.allCases)
    func restart(_ place: Where) async throws {
        try await PageTree.run { tree in
            let child = try await tree.lamp(place)
            _ = try await tree.runtime.restart("/lamp")
            #expect(child.incarnation == 2)
            let isLit = try await child.ask(ResourceCoordinator.IsLit(), timeout: .seconds(15))
            #expect(isLit)
            #expect(tree.count("/lamp lit") == 2)
            #expect(tree.count("/lamp closed") == 1)
        }
    }
}

extension PageTree {
    func lamp(_ place: Where) async throws -> Child<ResourceCoordinator> {
        try await root.start(ResourceCoordinator.self, as: "lamp", in: place.isWorker ? .worker : .inProcess) { $0.notebook = notebook }
    }
}
