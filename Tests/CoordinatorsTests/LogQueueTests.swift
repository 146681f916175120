import Glibc
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Coordinators

@Suite("A log that is slow", .timeLimit(.minutes(1)))
struct LogQueueTests {
    /// Notes what is logged, and holds who logs while it's told to.
    private final class Book: Sendable {
        struct State {
            var lines: [String] = []
            var isHeld = false
            var calls = 0
        }

        let state = Mutex(State())

        var lines: [String] { state.withLock { $0.lines } }

        func logger(_ queue: LogQueue, provider: Logger.MetadataProvider? = nil) -> Logger {
            var logger = Logger(label: "test") { _ in BookHandler(book: self, metadataProvider: provider) }
            logger.logLevel = .info
            return logger.queued(by: queue)
        }
    }

    private struct BookHandler: LogHandler {
        let book: Book
        var metadataProvider: Logger.MetadataProvider?
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            book.state.withLock { $0.calls += 1 }
            while book.state.withLock({ $0.isHeld }) { usleep(1_000) }
            let provided = metadataProvider?.get() ?? [:]
            let all = metadata.merging(provided) { $1 }.merging(event.metadata ?? [:]) { $1 }
            let text = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            book.state.withLock { $0.lines.append("\(event.level): \(event.message)\(text)") }
        }
    }

    @TaskLocal private static var request = "none"

    @Test("Entries come in their order, with what belongs to the logger and to the task that logged")
    func order() async {
        let book = Book()
        let queue = LogQueue()
        var logger = book.logger(queue, provider: Logger.MetadataProvider { ["request": "\(Self.request)"] })
        logger[metadataKey: "path"] = "/a"
        Self.$request.withValue("7") {
            logger.debug("not wanted")
            for number in 1...3 { logger.notice("entry", metadata: ["number": "\(number)"]) }
        }
        await queue.flush(within: .seconds(10))
        #expect(book.lines == (1...3).map { "notice: entry number=\($0) path=/a request=7" })
    }

    @Test("Who logs never waits; what is too much is dropped, and how much is said when there is room")
    func full() async throws {
        let book = Book()
        let queue = LogQueue(capacity: 10)
        let logger = book.logger(queue)
        book.state.withLock { $0.isHeld = true }
        logger.notice("0")
        try await eventually("the handler is held") { book.state.withLock { $0.calls } == 1 }
        let start = ContinuousClock.now
        for number in 1...100 { logger.notice("\(number)") }
        await queue.flush(within: .milliseconds(50))
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(book.lines.isEmpty)
        book.state.withLock { $0.isHeld = false }
        await queue.flush(within: .seconds(20))
        logger.notice("later")
        await queue.flush(within: .seconds(20))
        let report = "warning: log entries were dropped: what writes the log was too slow log.dropped=90"
        #expect(book.lines == (0...10).map { "notice: \($0)" } + [report, "notice: later"])
    }

    @Test("A runtime's log is written when its tree has ended, and one that is held keeps nothing from ending")
    func runtime() async throws {
        for isHeld in [false, true] {
            let book = Book()
            book.state.withLock { $0.isHeld = isHeld }
            var options = CoordinatorRuntime.Options()
            options.logger = Logger(label: "test") { _ in BookHandler(book: book) }
            options.logger.logLevel = .info
            let runtime = CoordinatorRuntime(Talker.self, configuration: NoConfiguration(), options: options)
            try await runtime.start()
            await runtime.stop()
            #expect(book.lines == (isHeld ? [] : ["info: started coordinator.path=/", "info: stopped coordinator.path=/"]))
            book.state.withLock { $0.isHeld = false }
        }
    }
}

/// Says when it starts and stops.
private actor Talker: Coordinator {
    nonisolated let context: Context<Talker>

    init(_ context: Context<Talker>, _ configuration: NoConfiguration) { self.context = context }

    func start() { context.logger.info("started") }

    func stop() { context.logger.info("stopped") }
}
