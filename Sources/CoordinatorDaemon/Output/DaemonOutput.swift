import ConcurrencySupport
import Coordinators
import Glibc
public import Logging

/// Runs a function on a thread of its own; returns false when no thread can be made.
typealias ThreadStart = @Sendable (@escaping @Sendable () -> Void) -> Bool

/// The only writer to the daemon's standard error: it writes the daemon's log and the children's output, and to its standard output what
/// children write there as it is.
///
/// No caller waits. The log and the output each have a lane of bounded size, and the lanes take turns. Bytes that a full lane can't take
/// are dropped; the lane reports their number when it has room again.
public final class DaemonOutput: Sendable {
    /// The sources of bytes, each with a lane.
    enum Source: Int, CaseIterable {
        case log, children
    }

    fileprivate struct Lane {
        let limit: Int
        /// Returns the text that takes the place of dropped bytes.
        let gap: @Sendable (Int) -> String
        var waiting: [[UInt8]] = []
        /// The number of bytes that wait or are being written.
        var bytes = 0
        var dropped = 0
    }

    /// The next step of the writing thread.
    private enum Step {
        /// Writes the bytes of a lane.
        case write([UInt8], lane: Int)
        /// Ends, and reports to the waiting flushes that everything is written.
        case end(flushes: [OneShot<Void>])
    }

    private struct State {
        var lanes: [Lane]
        var turn = 0
        var isWriting = false
        var flushes: [OneShot<Void>] = []
    }

    /// The time after which a thread that couldn't be made is tried again.
    private static let retryInterval = Duration.milliseconds(500)

    private let descriptor: Int32
    /// Whether systemd's journal reads what is written, and understands priorities.
    let isJournal: Bool
    private let format: LogFormat
    private let state: Lock<State>
    /// The writer to standard output; nil: nothing is written there.
    private let standardOutput: DaemonOutput?
    private let threads: ThreadStart

    /// Creates a writer to standard error in a format, and to standard output.
    public convenience init(format: LogFormat = .human) {
        let stream = getenv("JOURNAL_STREAM").map { String(cString: $0) }
        self.init(
            descriptor: STDERR_FILENO,
            isJournal: Journal.isBehind(STDERR_FILENO, stream),
            format: format,
            standardOutput: DaemonOutput(descriptor: STDOUT_FILENO, format: format)
        )
    }

    init(
        descriptor: Int32,
        isJournal: Bool = false,
        format: LogFormat = .human,
        logLimit: Int = 256 << 10,
        childrenLimit: Int = 1 << 20,
        standardOutput: DaemonOutput? = nil,
        threads: @escaping ThreadStart = { DetachedThread.run($0) }
    ) {
        self.descriptor = descriptor
        self.isJournal = isJournal
        self.format = format
        self.standardOutput = standardOutput
        self.threads = threads
        state = Lock(
            State(lanes: [
                Lane(limit: logLimit) { format.gap("\($0) bytes of the log were dropped") },
                Lane(limit: childrenLimit) { format.gap("\($0) bytes of output were dropped") },
            ])
        )
    }

    /// Returns a logger that writes here.
    public func logger(label: String) -> Logger {
        Logger(label: label) { label in
            StructuredLogHandler(label: label, format: format == .json ? .json : isJournal ? .journal : .human) {
                self.write($0, from: .log)
            }
        }
    }

    /// Appends a child's line as it is written here: as an object, or after the child's path, and for the journal after its priority.
    func append(_ line: ArraySlice<UInt8>, _ header: LogEntry.Header, path: String, to bytes: inout [UInt8]) {
        if format == .json {
            LogEntry.appendObject(line, header, path: path, key: "text", to: &bytes)
        } else if isJournal {
            let (priority, text) = LogEntry.priority(of: line)
            bytes += Array("<\(priority ?? 6)>[\(path)] ".utf8)
            bytes += text
        } else {
            bytes += Array("[\(path)] ".utf8)
            bytes += line
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Takes bytes to be written to standard output, and returns at once.
    func writeToStandardOutput(_ bytes: [UInt8]) { standardOutput?.write(bytes, from: .children) }

    /// Takes bytes to be written, and returns at once.
    func write(_ bytes: [UInt8], from source: Source) {
        let mustStart = state.withLock { state -> Bool in
            state.lanes[source.rawValue].enqueue(bytes)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { startThread() }
    }

    /// Waits until all bytes that were taken are written, up to a time limit.
    public func flush(within limit: Duration) async {
        async let other: Void? = standardOutput?.flush(within: limit)
        await flushItself(within: limit)
        await other
    }

    private func flushItself(within limit: Duration) async {
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
        if threads({ self.write() }) { return }
        // None is to be had at the moment. Until then it counts as writing, so that one timer alone tries again.
        _ = Timers.shared.schedule(at: .now + Self.retryInterval) { [weak self] in self?.startThread() }
    }

    private func write() {
        while true {
            switch next() {
            case .write(let text, let lane):
                writeAll(text)
                state.withLock { $0.lanes[lane].bytes -= text.count }
            case .end(let flushes):
                for flush in flushes { flush.settle() }
                return
            }
        }
    }

    private func next() -> Step {
        state.withLock { state in
            for _ in state.lanes.indices {
                state.turn = (state.turn + 1) % state.lanes.count
                if let text = state.lanes[state.turn].next() { return .write(text, lane: state.turn) }
            }
            state.isWriting = false
            defer { state.flushes = [] }
            return .end(flushes: state.flushes)
        }
    }

    /// Writes all bytes; gives up when standard error fails, because there is nowhere to report it.
    private func writeAll(_ text: [UInt8]) {
        var rest = text[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // A process that shares standard error has made it non-blocking; this thread may wait.
                var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&writable, 1, -1)
                continue
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

extension DaemonOutput.Lane {
    /// Takes bytes, or counts them where there is no room.
    fileprivate mutating func enqueue(_ bytes: [UInt8]) {
        guard self.bytes + bytes.count <= limit else {
            dropped += bytes.count
            return
        }
        appendGap()
        waiting.append(bytes)
        self.bytes += bytes.count
    }

    /// Returns all waiting bytes in one piece; nil when there are none.
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
