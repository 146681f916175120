import ConcurrencySupport
import Logging
import TestSupport

/// The log's entries, one line each.
final class RecordedLog: Sendable {
    private struct State {
        var lines: [String] = []
        var calls = 0
    }

    private let state = Lock(State())
    private let level: Logger.Level
    private let gate = ThreadGate(isOpen: true)

    init(_ level: Logger.Level = .warning) { self.level = level }

    var lines: [String] { state.withLock { $0.lines } }

    /// The number of entries, including those that are held.
    var calls: Int { state.withLock { $0.calls } }

    var logger: Logger { logger(with: nil) }

    func logger(with provider: Logger.MetadataProvider?) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self, metadataProvider: provider) }
        logger.logLevel = level
        return logger
    }

    /// Holds up the threads that log, until it's released.
    func hold(_ isHeld: Bool = true) { if isHeld { gate.close() } else { gate.open() } }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadataProvider: Logger.MetadataProvider?
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.state.withLock { $0.calls += 1 }
            log.gate.pass()
            let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
            let text = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            log.state.withLock { $0.lines.append("\(event.level): \(event.message)\(text)") }
        }
    }
}
