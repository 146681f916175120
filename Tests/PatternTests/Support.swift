import Coordinators
import Glibc
import Logging
import Testing

/// Where a scenario's child lives: every row is run for both, with the same expectations.
enum Where: String, CaseIterable, CustomTestStringConvertible {
    case inProcess, worker

    var isWorker: Bool { self == .worker }
    var placement: Placement { isWorker ? .worker : .inProcess }
    var testDescription: String { rawValue }
}

enum Support {
    /// The built worker, beside the test binary.
    static let workerExecutable: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let test = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(test[..<(test.lastIndex(of: "/") ?? test.startIndex)]) + "/PatternWorker"
    }()

    static var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = workerExecutable
        options.logger.logLevel = .error
        return options
    }

    /// Expects something to fail with a code.
    static func expect(
        _ code: CoordinatorError.Code,
        sourceLocation: SourceLocation = #_sourceLocation,
        from body: () async throws -> Void
    ) async {
        do {
            try await body()
            Issue.record("it must fail with \(code)", sourceLocation: sourceLocation)
        } catch {
            #expect((error as? CoordinatorError)?.code == code, "\(error)", sourceLocation: sourceLocation)
        }
    }

    /// Waits until something holds, at most twenty seconds, and records an issue if it never does.
    static func eventually(_ what: Comment, _ condition: () async throws -> Bool?) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            if try await condition() == true { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        Issue.record(what)
    }
}
