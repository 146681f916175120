import Coordinators
import Glibc
import Logging
import Testing

/// Where the details live: each scenario is run for both, with the same expectations.
enum Where: String, CaseIterable, CustomTestStringConvertible {
    case inProcess, worker

    var testDescription: String { rawValue }
    var isWorker: Bool { self == .worker }

    /// Options for a tree whose workers, if there are any, run the example's program.
    static var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = Program.path
        options.logger.logLevel = .error
        return options
    }
}

enum Program {
    /// The built example, beside the test binary.
    static let path: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let test = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(test[..<(test.lastIndex(of: "/") ?? test.startIndex)]) + "/HomeDetails"
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
