import Coordinators
import Fixtures
import Glibc
import Logging
import Testing

/// Where a scenario's children live: every scenario is run for both, with the same expectations.
enum Where: String, CaseIterable, CustomTestStringConvertible {
    case inProcess, worker

    var isWorker: Bool { self == .worker }
    var testDescription: String { rawValue }
}

enum Support {
    /// The built fixture, beside the test binary.
    static let fixtureWorker: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let test = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(test[..<(test.lastIndex(of: "/") ?? test.startIndex)]) + "/FixtureWorker"
    }()

    static var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = fixtureWorker
        options.logger.logLevel = .error
        return options
    }

    /// Waits until something holds, at most ten seconds.
    static func eventually(_ what: Comment, _ condition: () async throws -> Bool?) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            if try await condition() == true { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        Issue.record(what)
    }
}

extension CoordinatorRuntime {
    /// Has the coordinator at `path` do something.
    func perform(_ action: Fixture.Action, at path: CoordinatorPath, timeout: Duration = .seconds(10)) async throws -> String {
        try await ask(Fixture.Do(action), at: path, timeout: timeout)
    }

    /// Asks until another life than `former` answers: what is sent while a process dies may be lost with it, and says so.
    func whereIsIt(_ path: CoordinatorPath, after former: Fixture.Place) async throws -> Fixture.Place {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            do {
                let place = try await ask(Fixture.WhereAmI(), at: path)
                if place != former { return place }
            } catch let error as CoordinatorError
                where (error.code == .peerLost || error.code == .timedOut) && ContinuousClock.now < deadline
            {
            }
        }
    }

    @discardableResult
    func startChild(_ key: String, _ place: Where, greeting: String = "hello", restart: RestartType = .permanent) async throws -> String {
        try await ask(Fixture.StartChild(key, inWorker: place.isWorker, greeting: greeting, restart: restart), timeout: .seconds(10))
    }
}
