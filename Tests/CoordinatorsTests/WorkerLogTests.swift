import ConcurrencySupport
import Coordinators
import Fixtures
import Glibc
import Logging
import TestSupport
import Testing

@Suite("The logs of workers", .timeLimit(minutes: 2))
struct WorkerLogTests {
    @Test("A worker logs as much as its parent does, unless it's configured", arguments: [Logger.Level.debug, .notice])
    func level(_ level: Logger.Level) async throws {
        let log = Log()
        var options = Support.options
        options.logger = RecordedLog(level).logger
        options.workerOutput = .captured { _, bytes in log.append(bytes) }
        try await withRoot("a", in: .worker, options: options) { runtime in
            _ = try await runtime.perform(.startGrandchild("b", inWorker: true), at: "/a")
            let before = try await runtime.ask(Fixture.WhereAmI(), at: "/a/b")
            kill(before.pid, SIGKILL)
            _ = try await runtime.whereIsIt("/a/b", after: before)
            // What /a says of it: the crash as a warning, and before that the start for those who debug; the restart informs only.
            try await eventually("the worker has logged") { log.text.contains(" warning ") }
        }
        #expect(log.text.contains(" debug ") == (level == .debug))
        #expect(log.text.contains(" info ") == (level == .debug))
    }
}

/// The output of the workers.
private final class Log: Sendable {
    private let bytes = Lock<[UInt8]>([])

    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }

    func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }
}
