import ConcurrencySupport
import Fixtures
import TestSupport
import Testing
import WireProtocol

@testable import Coordinators

@Suite("Dependencies that are handed down", .timeLimit(minutes: 3))
struct HandedDownDependenciesTests {
    @Test("Whoever provides finds it everywhere below, and nothing older comes behind it, however many provide at the same time")
    func concurrentProviders() async throws {
        try await withRoot("a", "b", in: .inProcess) { runtime in
            let root = try runtime.root
            let leaves = try #require(root.existingChildren).hosts.compactMap { $0 as? CoordinatorCell }
            try #require(leaves.count == 2)
            let isOver = OneShot<Void>()
            // Nothing that was here goes again.
            let reading = Task { await Self.readWhileGrowing(leaves, until: isOver) }
            await withTaskGroup(of: Void.self) { providers in
                for number in 0..<500 { providers.addTask { Self.provide(number, at: root, toReach: leaves) } }
            }
            isOver.settle(())
            await reading.value
            for leaf in leaves { #expect(leaf.dependencies.entries.count == 500) }
        }
    }

    private static func provide(_ number: Int, at root: CoordinatorCell, toReach leaves: [CoordinatorCell]) {
        var dependencies = Dependencies()
        dependencies.entries["\(number)"] = DependencyEntry(describedBy: number)
        root.provide(dependencies)
        for leaf in leaves {
            let isThere = leaf.dependencies.entries["\(number)"] != nil
            #expect(isThere)
        }
    }

    private static func readWhileGrowing(_ leaves: [CoordinatorCell], until isOver: OneShot<Void>) async {
        var seen = leaves.map { _ in 0 }
        while isOver.outcome == nil {
            for (index, leaf) in leaves.enumerated() {
                let count = leaf.dependencies.entries.count
                #expect(count >= seen[index])
                seen[index] = count
            }
            await Task.yield()
        }
    }

    @Test("A value whose encoding provides something else reaches a worker, and so does the other")
    func encodingProvides() async throws {
        try await withRoot("a", in: .worker) { runtime in
            let root = try runtime.root
            let host = try #require(root.existingChildren?.hosts.first as? WorkerHost)
            Teapot.whenEncoded.withLock { $0 = { root.provide(Self.dependencies("other", Int.self, 7)) } }
            root.provide(Self.dependencies("teapot", Teapot.self, Teapot()))
            let told = host.state.withLock { $0.assignment?.startContext.dependencies.entries.keys.sorted() }
            #expect(told == ["other", "teapot"])
            #expect(root.dependencies.entries.keys.sorted() == ["other", "teapot"])
        }
    }

    private static func dependencies<Value: Codable & Sendable>(_ name: String, _ type: Value.Type, _ value: Value) -> Dependencies {
        var dependencies = Dependencies()
        dependencies.entries[name] = DependencyEntry(describedBy: value)
        return dependencies
    }
}

/// Its encoding calls somebody, once.
private struct Teapot: Codable, Sendable {
    static let whenEncoded = Lock<(@Sendable () -> Void)?>(nil)

    init() {}

    init(from decoder: any Decoder) throws {}

    func encode(to encoder: any Encoder) throws {
        let call = Self.whenEncoded.withLock { call in
            defer { call = nil }
            return call
        }
        call?()
        var container = encoder.singleValueContainer()
        try container.encode("teapot")
    }
}
