import Coordinators
import CoordinatorsTesting
import Fixtures
import Foundation
import TestSupport
import Testing

/// A running tree whose root has handed its context to the test: a test starts, pauses and observes as a parent does.
struct PageTree: Sendable {
    let runtime: CoordinatorRuntime
    let root: FlowRoot.Context
    let notebook: Notebook
    /// The time of the tree, if the test moves it.
    var time: ManualTime?

    static func run(
        options: CoordinatorRuntime.Options = Support.options,
        configure: (inout FlowRoot.Configuration) -> Void = { _ in },
        time: ManualTime? = nil,
        _ body: (PageTree) async throws -> Void
    ) async throws {
        let notebook = try Notebook.temporary()
        defer { notebook.remove() }
        try await withRuntime(
            FlowRoot.self,
            options: options,
            configure: {
                $0.notebook = notebook
                configure(&$0)
            },
            time: time
        ) { runtime in
            let root = try #require(HandedContexts.take(for: notebook))
            try await body(PageTree(runtime: runtime, root: root, notebook: notebook, time: time))
        }
    }

    /// Runs a tree whose coordinator at this place lives by a time that the test moves, if it's in the test's process.
    static func run(timed place: Where, _ body: (PageTree) async throws -> Void) async throws {
        try await run(time: place.isWorker ? nil : ManualTime(), body)
    }

    /// Lets time pass.
    func pass(_ duration: Duration) async throws {
        if let time {
            await time.advance(by: duration)
        } else {
            try await realTime(duration, because: "workers live by the machine's clock")
        }
    }

    /// Starts a coordinator with the test's notebook as a child of the root.
    @discardableResult
    func start<C: Coordinator>(
        _ type: C.Type,
        as key: String,
        _ place: Where = .inProcess,
        restart: RestartType = .permanent,
        shutdown: Shutdown = .timeout(.seconds(5)),
        _ configure: (inout C.Configuration) -> Void = { _ in }
    ) async throws -> Child<C> where C.Configuration: NotingConfiguration {
        try await root.start(type, as: key, in: place.placement, restart: restart, shutdown: shutdown) {
            $0.notebook = notebook
            configure(&$0)
        }
    }

    /// Starts a step coordinator as a child of the root.
    @discardableResult
    func step(
        _ key: String,
        _ place: Where,
        _ configure: (inout StepCoordinator.Configuration) -> Void = { _ in }
    ) async throws -> Child<StepCoordinator> {
        try await start(StepCoordinator.self, as: key, place, configure)
    }

    /// Starts a step coordinator somewhere further down.
    func step(
        _ key: String,
        below path: CoordinatorPath,
        _ place: Where,
        _ configure: (inout StepCoordinator.Configuration) -> Void = { _ in }
    ) async throws {
        var configuration = StepCoordinator.Configuration(notebook)
        configure(&configuration)
        let started = try await runtime.ask(
            FixtureFlow.StartStep(key, inWorker: place.isWorker, configuration),
            at: path,
            timeout: .seconds(20)
        )
        #expect(started == path.appending(key).description)
    }

    /// Has the step coordinator at `path` do something.
    @discardableResult
    func perform(_ action: FixtureFlow.Action, at path: CoordinatorPath, timeout: Duration = .seconds(20)) async throws -> String {
        try await runtime.ask(FixtureFlow.Do(action), at: path, timeout: timeout)
    }

    /// Makes a step coordinator fail; its answer may be lost with it.
    func fail(_ path: CoordinatorPath) async { _ = try? await perform(.fail, at: path) }

    /// Makes a step coordinator request its dismissal; its answer may be lost with it.
    func asksToGo(_ path: CoordinatorPath, milliseconds: Int) async {
        _ = try? await perform(.requestDismissal(milliseconds: milliseconds), at: path)
    }

    /// Returns the number of times that a line occurs in the notebook.
    func count(_ line: String) -> Int { notebook.lines.count { $0 == line } }

    /// Waits until the notebook reads a line so many times.
    func reads(_ line: String, times: Int = 1) async throws {
        try await eventually("the notebook reads '\(line)' \(times) times") { count(line) == times }
    }

    /// Waits until a coordinator is in a state, and at least in its so many-eth life.
    func reaches(_ state: CoordinatorState, at path: CoordinatorPath, incarnation: UInt32 = 1) async throws {
        try await eventually("\(path) is \(state)") {
            let snapshot = try? await runtime.snapshot(of: path)
            return snapshot?.state == state && (snapshot?.incarnation ?? 0) >= incarnation
        }
    }

    /// Waits until there is nothing at a path.
    func isGone(_ path: CoordinatorPath) async throws {
        try await eventually("\(path) is gone") {
            do {
                return try await runtime.snapshot(of: path).state == .inactive
            } catch let error as CoordinatorError where error.code == .noSuchPath || error.code == .noSuchChild {
                return true
            } catch let error as CoordinatorError where error.code == .timedOut || error.code == .peerLost {
                return false
            }
        }
    }

    /// The whole stack, bottom first: "/child product(7)".
    func stack() async throws -> [String] {
        try await runtime.navigation().map { entry in
            let page = try JSONDecoder().decode(StepCoordinator.Page.self, from: JSONEncoder().encode(entry.page))
            return "\(entry.path) \(page)"
        }
    }

    /// Waits until the stack is this: pages never block, so their effect is seen a moment later.
    func shows(_ expected: [String], _ location: SourceLocation = #_sourceLocation) async throws {
        var last: [String] = []
        try await eventually("the stack is \(expected); it's \(last)", fileID: location.fileID, line: location.line) {
            last = try await stack()
            return last == expected
        }
    }
}
