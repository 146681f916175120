import ConcurrencySupport
import Coordinators
import Glibc
public import Logging

/// The one writer to the daemon's standard error: the daemon's log, and what its children write.
///
/// Nobody waits for it. Both wait for standard error in a lane of their own, take turns, and lose what a full lane can't take: the gap is
/// said when there is room again.
public final class DaemonOutput: Sendable {
    /// What is written.
    enum Source: Int, CaseIterable {
        case log, children
    }

    fileprivate struct Lane {
        let limit: Int
        /// What comes in place of what was lost, said once.
        let gap: @Sendable (Int) -> String
        var waiting: [[UInt8]] = []
        /// The bytes of what waits, or is being written.
        var bytes = 0
        var dropped = 0
    }

    private struct State {
        var lanes: [Lane]
        var turn = 0
        var isWriting = false
        var flushes: [OneShot<Void>] = []
    }

    private let descriptor: Int32
    private let state: Lock<State>

    /// Creates a writer; nothing is written before there is something to write.
    public convenience init() { self.init(descriptor: STDERR_FILENO) }

    init(descriptor: Int32, logLimit: Int = 256 << 10, childrenLimit: Int = 1 << 20) {
        self.descriptor = descriptor
        state = Lock(
            State(lanes: [
                Lane(limit: logLimit) { "[coordinatord] (\($0) bytes of the log were dropped)\n" },
                Lane(limit: childrenLimit) { "[coordinatord] (\($0) bytes of output were dropped)\n" },
            ])
        )
    }

    /// A logger that writes here.
    public func logger(label: String) -> Logger {
        Logger(label: label) { StreamLogHandler(label: $0, stream: LogStream(output: self)) }
    }

    /// Takes what is to be written, and returns at once.
    func write(_ bytes: [UInt8], from source: Source) {
        let mustStart = state.withLock { state -> Bool in
            guard state.lanes[source.rawValue].take(bytes) else { return false }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { startThread() }
    }

    /// Waits until what has been taken is written, at most this long.
    public func flush(within limit: Duration) async {
        let isEmpty = OneShot<Void>()
        let mustWait = state.withLock { state -> Bool in
            if state.isWriting { state.flushes.append(isEmpty) }
            return state.isWriting
        }
        guard mustWait else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await isEmpty.valueUnlessCancelled() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    private func startThread() {
        if DetachedThread.run({ self.write() }) { return }
        // The next call tries again.
        state.withLock { $0.isWriting = false }
    }

    private func write() {
        while let (text, lane) = next() {
            writeAll(text)
            state.withLock { $0.lanes[lane].bytes -= text.count }
        }
    }

    private func next() -> ([UInt8], lane: Int)? {
        let (found, flushes) = state.withLock { state -> (([UInt8], lane: Int)?, [OneShot<Void>]) in
            for _ in state.lanes.indices {
                state.turn = (state.turn + 1) % state.lanes.count
                if let text = state.lanes[state.turn].next() { return ((text, state.turn), []) }
            }
            state.isWriting = false
            defer { state.flushes = [] }
            return (nil, state.flushes)
        }
        for flush in flushes { flush.settle() }
        return found
    }

    /// Standard error may have gone; there is nobody to tell then.
    private func writeAll(_ text: [UInt8]) {
        var rest = text[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // Somebody who shares it has made it so; this thread may wait.
                var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&writable, 1, -1)
                continue
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private struct LogStream: TextOutputStream, Sendable {
        let output: DaemonOutput

        func write(_ text: String) { output.write(Array(text.utf8), from: .log) }
    }
}

extension DaemonOutput.Lane {
    /// - Returns: whether there was room.
    fileprivate mutating func take(_ bytes: [UInt8]) -> Bool {
        guard self.bytes + bytes.count <= limit else {
            dropped += bytes.count
            return false
        }
        appendGap()
        waiting.append(bytes)
        self.bytes += bytes.count
        return true
    }

    /// All that waits, in one piece.
    fileprivate mutating func next() -> [UInt8]? {
        appendGap()
        guard !waiting.isEmpty else { return nil }
        defer { waiting = [] }
        return Array(waiting.joined())
    }

    private mutating func appendGap() {
        guard dropped > 0 else { return }
        let text = Array(gap(dropped).utf8)
        dropped = 0
        waiting.append(text)
        bytes += text.count
    }
}
