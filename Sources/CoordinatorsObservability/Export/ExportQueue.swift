import ConcurrencySupport
import DequeModule
import FoundationEssentials
import WireProtocol

/// A queue of what is to be exported, whose requests a thread of its own writes or sends: handlers never wait for them.
///
/// The queue is bounded. What there is no room for, and what a destination doesn't take, is lost and counted.
final class ExportQueue<Item: Sendable>: Sendable {
    private struct State {
        var waiting: Deque<Item> = []
        var lost: UInt64 = 0
        var isScheduled = false
        var isWriting = false
        /// The callers that wait until the queue is empty.
        var flushes: [OneShot<Void>] = []
    }

    private let destination: TelemetryDestination
    private let defaultPath: String
    private let capacity: Int
    /// The number of items in one request at most.
    private let batch: Int
    /// The time for which items are collected.
    private let delay: Duration
    private let request: @Sendable ([Item]) -> JSONValue
    private let trouble: Trouble<String>
    private let state = Lock(State())

    /// - Parameters:
    ///   - trouble: What is told of failures and successes.
    ///   - request: The function that makes a request of items.
    init(
        to destination: TelemetryDestination,
        defaultPath: String,
        capacity: Int,
        batch: Int,
        delay: Duration,
        trouble: Trouble<String>,
        request: @escaping @Sendable ([Item]) -> JSONValue
    ) {
        (self.destination, self.defaultPath, self.capacity, self.batch, self.delay) = (destination, defaultPath, capacity, batch, delay)
        (self.trouble, self.request) = (trouble, request)
    }

    /// The number of items that were lost.
    var lost: UInt64 { state.withLock { $0.lost } }

    func append(_ items: [Item], lost: UInt64 = 0) {
        let mustSchedule = state.withLock { state -> Bool in
            let taken = items.prefix(capacity - state.waiting.count)
            state.waiting.append(contentsOf: taken)
            state.lost = state.lost.addingSaturating(lost).addingSaturating(UInt64(items.count - taken.count))
            guard !state.waiting.isEmpty, !state.isScheduled, !state.isWriting else { return false }
            state.isScheduled = true
            return true
        }
        guard mustSchedule else { return }
        if delay == .zero { return timePassed() }
        _ = Timers.shared.schedule(at: .now + delay) { [weak self] in self?.timePassed() }
    }

    /// Writes or sends what waits, and returns when that is done; the caller limits the time.
    func flush() async {
        let isEmpty = OneShot<Void>()
        let (mustStart, mustWait) = state.withLock { state -> (Bool, Bool) in
            guard state.isWriting || !state.waiting.isEmpty else { return (false, false) }
            state.flushes.append(isEmpty)
            defer { state.isWriting = true }
            return (!state.isWriting, true)
        }
        if mustStart { startThread() }
        if mustWait { await isEmpty.value }
    }

    private func timePassed() {
        let mustStart = state.withLock { state -> Bool in
            state.isScheduled = false
            guard !state.isWriting, !state.waiting.isEmpty else { return false }
            state.isWriting = true
            return true
        }
        if mustStart { startThread() }
    }

    private func startThread() {
        if DetachedThread.run({ self.write() }) { return }
        // The next item tries again.
        let flushes = state.withLock { state in
            defer { (state.isWriting, state.flushes) = (false, []) }
            return state.flushes
        }
        for flush in flushes { flush.settle(()) }
    }

    private func write() {
        while let items = next() {
            do {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                try destination.send([UInt8](try encoder.encode(request(items))), defaultPath: defaultPath)
                trouble.succeeded()
            } catch {
                state.withLock { $0.lost = $0.lost.addingSaturating(UInt64(items.count)) }
                trouble.failed("\(error)")
            }
        }
    }

    private func next() -> [Item]? {
        let (items, flushes) = state.withLock { state -> ([Item]?, [OneShot<Void>]) in
            guard !state.waiting.isEmpty else {
                state.isWriting = false
                defer { state.flushes = [] }
                return (nil, state.flushes)
            }
            let items = Array(state.waiting.prefix(batch))
            state.waiting.removeFirst(items.count)
            return (items, [])
        }
        for flush in flushes { flush.settle(()) }
        return items
    }
}
