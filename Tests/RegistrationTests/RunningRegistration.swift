import Coordinators
import CoordinatorsTesting
import Logging
import TestSupport
import Testing

@testable import Registration

/// The application with a user, whose diary tells what happened.
struct RunningRegistration {
    let runtime: CoordinatorRuntime

    static func with(
        _ place: Where,
        _ script: (inout TestUser.Configuration) -> Void = { _ in },
        _ body: (RunningRegistration) async throws -> Void
    ) async throws {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = program.path
        options.runsInOneProcess = place == .inProcess
        options.logger.logLevel = .error
        try await withRuntime(TestUser.self, options: options, configure: script) { runtime in
            try await body(RunningRegistration(runtime: runtime))
        }
    }

    /// The screens that the user was shown.
    func diary() async throws -> [String] { try await runtime.ask(TestUser.Diary()) }

    /// Waits until the user has been shown so many screens.
    func shown(_ count: Int) async throws {
        try await eventually("\(count) screens were shown") { try await diary().count >= count }
    }

    /// Waits for the end, expects that nothing is left, and returns what the user was shown.
    func end() async throws -> [String] {
        try await eventually("the application has ended") {
            guard let last = try await diary().last else { return false }
            return last.hasPrefix("finished") || last.hasPrefix("failed")
        }
        #expect(try await runtime.snapshot().children.isEmpty)
        #expect(try await runtime.navigation().isEmpty)
        return try await diary()
    }

    static let program = BuiltProgram("Registration")
}
