import Coordinators
import CoordinatorsTesting
import Glibc
import Logging
import Testing

@testable import Experience

/// Where the login and the player live: each scenario is run for both, with the same expectations.
enum Where: String, CaseIterable, CustomTestStringConvertible {
    case inProcess, worker

    var testDescription: String { rawValue }

    /// Options for a tree whose workers, if there are any, run the example's program.
    var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = Program.path
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

enum Program {
    /// The built example, beside the test binary.
    static let path: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let test = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(test[..<(test.lastIndex(of: "/") ?? test.startIndex)]) + "/Experience"
    }()
}

let ada = User(name: "Ada", email: "ada@example.org")

/// Waits until something holds, at most ten seconds.
func eventually(_ what: Comment, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < deadline {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(2))
    }
    Issue.record(what)
}
