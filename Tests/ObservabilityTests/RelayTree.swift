import Coordinators
import Fixtures
import Glibc
import Logging
import TestSupport
import Testing

/// A tree whose root asks a worker, which asks a worker of its own, as deep as a test wants.
enum RelayTree {
    static func options(instruments: [any CoordinatorInstrument] = []) -> CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.logger.logLevel = .error
        options.instruments = instruments
        return options
    }

    /// The path of the coordinator so many processes below the root.
    static func path(_ depth: Int) -> CoordinatorPath {
        (0..<depth).reduce(.root) { path, _ in path.appending("next") }
    }

    static func with(
        depth: Int,
        instruments: [any CoordinatorInstrument],
        _ body: (CoordinatorRuntime) async throws -> Void
    ) async throws {
        try await with(depth: depth, options: options(instruments: instruments), body)
    }

    static func with(
        depth: Int,
        options: CoordinatorRuntime.Options,
        _ body: (CoordinatorRuntime) async throws -> Void
    ) async throws {
        let configuration = RelayCoordinator.Configuration(depth: depth)
        // The fixture's program under the name by which it keeps spans and metrics.
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let executable = directory.file(Fixture.tracingName)
        try #require(symlink(BuiltProgram("FixtureWorker").path, executable) == 0)
        var options = options
        options.workerExecutable = executable
        let runtime = CoordinatorRuntime(RelayCoordinator.self, configuration: configuration, options: options)
        try await runtime.start()
        do {
            try await body(runtime)
        } catch {
            await runtime.stop()
            throw error
        }
        await runtime.stop()
    }
}
