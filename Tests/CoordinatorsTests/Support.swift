import Coordinators
import CoordinatorsTesting
import Fixtures
import Logging
import TestSupport
import Testing

enum Support {
    /// The built fixture.
    static let worker = BuiltProgram("FixtureWorker")

    static var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = worker.path
        options.logger.logLevel = .error
        return options
    }
}

extension CoordinatorRuntime.Options {
    /// Returns the same options with a change.
    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

/// Runs a tree under the fixture's root, with a child at each of the keys.
func withRoot<Result>(
    _ keys: String...,
    in place: Where = .worker,
    options: CoordinatorRuntime.Options = Support.options,
    _ body: (CoordinatorRuntime) async throws -> Result
) async throws -> Result {
    try await withRuntime(RootCoordinator.self, options: options) { runtime in
        for key in keys { try await runtime.startChild(key, place) }
        return try await body(runtime)
    }
}

/// Expects an error of the library's with this code.
func expect(
    _ code: CoordinatorError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> some Any
) async {
    let error = await #expect(throws: CoordinatorError.self, sourceLocation: sourceLocation) { _ = try await body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
}

extension CoordinatorRuntime {
    /// Has the coordinator at `path` do something.
    func perform(_ action: Fixture.Action, at path: CoordinatorPath, timeout: Duration = .patient(.seconds(30))) async throws -> String {
        try await ask(Fixture.Do(action), at: path, timeout: timeout)
    }

    /// Asks until another life than `former` answers: what is sent while a process dies may be lost with it, and says so.
    func whereIsIt(_ path: CoordinatorPath, after former: Fixture.Place) async throws -> Fixture.Place {
        var next: Fixture.Place?
        try await eventually("another life than \(former)") {
            do {
                next = try await ask(Fixture.WhereAmI(), at: path)
                return next != former
            } catch let error as CoordinatorError where error.code == .peerLost || error.code == .timedOut {
                return false
            }
        }
        return try #require(next)
    }

    @discardableResult
    func startChild(
        _ key: String,
        _ place: Where,
        greeting: String = "hello",
        restart: RestartType = .permanent,
        drainSeconds: Int? = nil
    ) async throws -> String {
        let start = Fixture.StartChild(
            key,
            inWorker: place.isWorker,
            greeting: greeting,
            restart: restart,
            drainSeconds: drainSeconds
        )
        return try await ask(start, timeout: .patient(.seconds(30)))
    }
}
