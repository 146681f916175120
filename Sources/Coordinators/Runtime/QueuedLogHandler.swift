import Logging

/// A log handler that never blocks: it passes entries through a queue to another handler.
struct QueuedLogHandler: LogHandler {
    private var base: any LogHandler
    private let queue: LogQueue
    /// The provider that is called at each entry, in the task that logs.
    var metadataProvider: Logger.MetadataProvider?

    init(_ base: any LogHandler, queue: LogQueue) {
        self.base = base
        self.queue = queue
        metadataProvider = base.metadataProvider
        if metadataProvider != nil { self.base.metadataProvider = nil }
    }

    var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        if let provided = metadataProvider?.get(), !provided.isEmpty {
            event.metadata = provided.merging(event.metadata ?? [:]) { $1 }
        }
        queue.append(event, to: base)
    }
}

extension Logger {
    /// Returns a copy of this logger that never waits for its entries to be written.
    func queued(by queue: LogQueue) -> Logger {
        var logger = self
        logger.handler = QueuedLogHandler(handler, queue: queue)
        return logger
    }
}
