import ConcurrencySupport
import DequeModule
import Glibc
import Logging

/// A queue of log entries that aren't written yet, so that logging never blocks.
///
/// Handlers may block, on a stopped terminal or a full pipe. They are called on a thread of the queue's own, which lives while entries
/// wait; code that logs never waits. When too many entries wait, the newest are dropped, and their number is logged when there is room.
final class LogQueue: Sendable {
    private struct Entry {
        let handler: any LogHandler
        let event: LogEvent
    }

    private struct State {
        var waiting: Deque<Entry> = []
        var dropped = 0
        /// The handler of the latest entry.
        var latest: (any LogHandler)?
        var isWriting = false
        /// The callers that wait until the queue is empty.
        var flushes: [@Sendable () -> Void] = []
    }

    private let capacity: Int
    private let state = Lock(State())

    /// - Parameter capacity: The number of entries that may wait.
    init(capacity: Int = 4_096) { self.capacity = capacity }

    /// Adds an entry for a handler, and returns at once.
    func append(_ event: LogEvent, to handler: any LogHandler) {
        let mustStart = state.withLock { state -> Bool in
            guard state.waiting.count < capacity else {
                state.dropped += 1
                return false
            }
            if let report = Self.takeReport(&state) { state.waiting.append(report) }
            state.waiting.append(Entry(handler: handler, event: event))
            state.latest = handler
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { startThread() }
    }

    /// Waits until the entries in the queue are written, for at most this time.
    func flush(within limit: Duration) async {
        let isEmpty = OneShot<Void>()
        let mustWait = state.withLock { state -> Bool in
            if state.isWriting { state.flushes.append { isEmpty.settle() } }
            return state.isWriting
        }
        if mustWait { _ = await isEmpty.value(before: .now + limit) }
    }

    /// Does the same on a thread that may block.
    func waitUntilWritten(for limit: Duration) {
        let isEmpty = Semaphore()
        let mustWait = state.withLock { state -> Bool in
            if state.isWriting { state.flushes.append { isEmpty.post() } }
            return state.isWriting
        }
        if mustWait { isEmpty.wait(for: limit) }
    }

    private func startThread() {
        if DetachedThread.run({ self.write() }) { return }
        // The next entry tries again.
        state.withLock { $0.isWriting = false }
    }

    private func write() {
        while let entry = next() { entry.handler.log(event: entry.event) }
    }

    private func next() -> Entry? {
        let (entry, flushes) = state.withLock { state -> (Entry?, [@Sendable () -> Void]) in
            if let entry = state.waiting.popFirst() ?? Self.takeReport(&state) { return (entry, []) }
            state.isWriting = false
            state.latest = nil
            defer { state.flushes = [] }
            return (nil, state.flushes)
        }
        for flush in flushes { flush() }
        return entry
    }

    private static func takeReport(_ state: inout State) -> Entry? {
        guard state.dropped > 0, let handler = state.latest else { return nil }
        defer { state.dropped = 0 }
        let event = LogEvent(
            level: .warning,
            message: "log entries were dropped: what writes the log was too slow",
            error: nil,
            metadata: ["log.dropped": "\(state.dropped)"],
            source: "Coordinators",
            file: #fileID,
            function: #function,
            line: #line
        )
        return Entry(handler: handler, event: event)
    }
}

// MARK: - The log handler

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
