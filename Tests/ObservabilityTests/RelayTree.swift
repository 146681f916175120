import Coordinators
import Logging
import ObservabilityFixtures
import TestSupport

/// A tree whose root asks a worker, which asks a worker of its own, as deep as a test wants.
enum RelayTree {
    static func options(instruments: [any CoordinatorInstrument] = []) -> CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = BuiltProgram("ObservabilityWorker").path
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
