import Coordinators
import CoordinatorsTesting
import Logging
import TestSupport
import Testing

@testable import Experience

extension Where {
    /// Options for a tree whose workers, if there are any, run the example's program.
    var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = program.path
        options.runsInOneProcess = self == .inProcess
        options.logger.logLevel = .error
        return options
    }
}

/// Runs the app for the length of a test.
func withApp(_ place: Where, session: Session? = nil, _ body: (CoordinatorRuntime) async throws -> Void) async throws {
    var options = place.options
    options.dependencies.session = session
    try await withRuntime(AppCoordinator.self, options: options) { runtime in
        try await body(runtime)
    }
}

let program = BuiltProgram("Experience")

let ada = User(name: "Ada", email: "ada@example.org")
