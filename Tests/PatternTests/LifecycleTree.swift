import Coordinators
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

/// A running tree whose root a test can act for.
struct LifecycleTree: Sendable {
    let root: LifecycleRoot
    let runtime: CoordinatorRuntime
    let journal: Notebook

    var context: LifecycleRoot.Context { root.context }

    /// Runs a tree for the length of a test, and ends it whatever happens.
    static func run(_ options: CoordinatorRuntime.Options = Support.options, _ body: (LifecycleTree) async throws -> Void) async throws {
        let journal = try Notebook.temporary()
        defer { journal.remove() }
        try await withRuntime(LifecycleRoot.self, options: options, configure: { $0.journal = journal }) { runtime in
            let root = try #require(LifecycleRoot.take(for: journal))
            defer { root.gate.open() }
            try await body(LifecycleTree(root: root, runtime: runtime, journal: journal))
        }
    }

    @discardableResult
    func startChild(
        _ key: String = "a",
        _ place: Where,
        restart: RestartType = .permanent,
        shutdown: Shutdown = .timeout(.seconds(10)),
        configure: (inout LifeChild.Configuration) -> Void = { _ in }
    ) async throws -> Child<LifeChild> {
        try await context.start(LifeChild.self, as: key, in: place.placement, restart: restart, shutdown: shutdown) {
            $0.journal = journal
            configure(&$0)
        }
    }

    /// Has the coordinator at a path do something.
    @discardableResult
    func perform(_ action: Life.Action, at path: CoordinatorPath) async throws -> String {
        try await runtime.ask(Life.Do(action), at: path, timeout: .seconds(30))
    }

    func whereIs(_ path: CoordinatorPath) async throws -> Fixture.Place {
        try await runtime.ask(Fixture.WhereAmI(), at: path, timeout: .seconds(30))
    }

    /// Asks until a certain life answers: what is sent while a life ends may be lost with it, and says so.
    func place(of path: CoordinatorPath, incarnation: UInt32) async throws -> Fixture.Place {
        var place: Fixture.Place?
        try await eventually("\(path) has incarnation \(incarnation)") {
            place = try? await runtime.ask(Fixture.WhereAmI(), at: path, timeout: .seconds(5))
            return place?.incarnation == incarnation
        }
        return try #require(place)
    }

    /// The lines of the journal that are about some matter, in order.
    func lines(_ prefixes: String...) -> [String] {
        journal.lines.filter { line in prefixes.contains { line.hasPrefix($0) } }
    }
}

extension Child<LifeChild> {
    @discardableResult
    func perform(_ action: Life.Action, timeout: Duration = .seconds(30)) async throws -> String {
        try await ask(Life.Do(action), timeout: timeout)
    }
}
