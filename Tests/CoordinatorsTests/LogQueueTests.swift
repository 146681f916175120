import Logging
import TestSupport
import Testing

@testable import Coordinators

@Suite("A log that is slow", .timeLimit(minutes: 1))
struct LogQueueTests {
    @TaskLocal private static var request = "none"

    @Test("Entries arrive in order, with the metadata of the logger and of the task that logged")
    func order() async {
        let log = RecordedLog(.info)
        let queue = LogQueue()
        var logger = log.logger(with: Logger.MetadataProvider { ["request": "\(Self.request)"] }).queued(by: queue)
        logger[metadataKey: "path"] = "/a"
        Self.$request.withValue("7") {
            logger.debug("not wanted")
            for number in 1...3 { logger.notice("entry", metadata: ["number": "\(number)"]) }
        }
        await queue.flush(within: .seconds(10))
        #expect(log.lines == (1...3).map { "notice: entry number=\($0) path=/a request=7" })
    }

    @Test("Logging never waits, and entries beyond the limit are dropped and counted")
    func full() async throws {
        let log = RecordedLog(.info)
        let queue = LogQueue(capacity: 10)
        let logger = log.logger.queued(by: queue)
        log.hold()
        logger.notice("0")
        try await eventually("the handler is held") { log.calls == 1 }
        let start = ContinuousClock.now
        for number in 1...100 { logger.notice("\(number)") }
        await queue.flush(within: .milliseconds(50))
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(log.lines.isEmpty)
        log.hold(false)
        await queue.flush(within: .seconds(20))
        logger.notice("later")
        await queue.flush(within: .seconds(20))
        let report = "warning: log entries were dropped: what writes the log was too slow log.dropped=90"
        #expect(log.lines == (0...10).map { "notice: \($0)" } + [report, "notice: later"])
    }

    @Test("A runtime's log is written when its tree has ended, and a blocked log keeps nothing from ending")
    func runtime() async throws {
        for isHeld in [false, true] {
            let log = RecordedLog(.info)
            log.hold(isHeld)
            var options = CoordinatorRuntime.Options()
            options.logger = log.logger
            let runtime = CoordinatorRuntime(Talker.self, configuration: NoConfiguration(), options: options)
            try await runtime.start()
            await runtime.stop()
            #expect(log.lines == (isHeld ? [] : ["info: started coordinator.path=/", "info: stopped coordinator.path=/"]))
            log.hold(false)
        }
    }
}

/// Says when it starts and stops.
private actor Talker: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    func start() { context.logger.info("started") }

    func stopped() { context.logger.info("stopped") }
}
