import Logging
import Synchronization

/// What was logged, a line for each.
final class RecordedLog: Sendable {
    private let content = Mutex<[String]>([])
    private let level: Logger.Level

    init(_ level: Logger.Level = .warning) { self.level = level }

    var lines: [String] { content.withLock { $0 } }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = level
        return logger
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            log.content.withLock { $0.append("\(event.level) \(event.message) \(all)") }
        }
    }
}
