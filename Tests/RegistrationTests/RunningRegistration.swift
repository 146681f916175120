import Coordinators
import CoordinatorsTesting
import Glibc
import Logging
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
        options.workerExecutable = executable
        options.runsInOneProcess = place == .inProcess
        options.logger.logLevel = .error
        try await withRuntime(TestUser.self, options: options, configure: script) { runtime in
            try await body(RunningRegistration(runtime: runtime))
        }
    }

    /// What the user has been shown.
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

    /// The program, which is built beside the tests.
    static let executable: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let test = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(test[..<(test.lastIndex(of: "/") ?? test.startIndex)]) + "/Registration"
    }()
}

/// Waits until something holds, at most ten seconds.
func eventually(_ what: Comment, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < deadline {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(2))
    }
    Issue.record(what)
}
