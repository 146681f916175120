import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Logging
import Processes

/// The output of one child, on its way to the child's file and to the daemon's standard error.
///
/// No caller waits. Output waits in a queue of bounded size for a thread that lives while there is some; when the queue is nearly full, the
/// child's pipe isn't read for a moment, and what then doesn't fit is dropped. The file has a gap where output was dropped, because of a
/// full queue or because of a file that couldn't be written, with the number of bytes and lines.
final class ChildLog: Sendable {
    /// The settings of a log: the same as the child's in the configuration, with the file's path.
    struct Settings: Equatable, Sendable {
        /// The path of the file; nil means that there is none.
        var file: String?
        var format = LoggingConfiguration.Format.lines
        var maximumSize: Int64 = 10 << 20
        var keep = 5
        var daemonCopy = LoggingConfiguration.DaemonCopy.labelled
        var access = LogAccess()
        /// Whether other children write to the same file, so that each line tells its child.
        var isShared = false
    }

    fileprivate enum Piece {
        case output([UInt8], OutputOrigin, time: Int64)
        /// The output of a life has ended.
        case end(OutputOrigin, time: Int64)
    }

    private struct Dropped {
        var bytes: Int64 = 0
        var lines: Int64 = 0
        var reason = ""

        mutating func add(_ bytes: [UInt8], because reason: String) { add(bytes.count, LogLines.count(in: bytes), because: reason) }

        mutating func add(_ count: Int, _ newlines: Int, because reason: String) {
            bytes += Int64(count)
            lines += Int64(newlines)
            self.reason = reason
        }
    }

    private struct State {
        var settings: Settings
        var pieces: [Piece] = []
        /// The number of bytes that wait or are being written.
        var bytes = 0
        var dropped = Dropped()
        var isWriting = false
        /// Whether the file is to be tried again.
        var mustRetry = false
        /// Whether lines that haven't ended are written too.
        var mustBreak = false
        /// The callers that wait until all is written.
        var flushes: [OneShot<Void>] = []
    }

    /// The state of the writing thread, of which there is one at a time.
    private struct Writer {
        var file: LogFile?
        var settings = Settings()
        var output = LogLines()
        var errors = LogLines()
        var outputOrigin: OutputOrigin?
        var errorOrigin: OutputOrigin?
        /// What couldn't be written to the file.
        var dropped = Dropped()
        /// The time at which a file that couldn't be written is tried again.
        var retry = MonotonicTime.now
        /// The turn of the file.
        var turn: LogTurn?
        /// The problem with the file's owner or permissions that was logged.
        var problem: String?
    }

    /// A write that has failed.
    private struct Failure {
        let file: String
        let error: FilePlace.Failure
    }

    /// The number of bytes above which the child's pipe isn't read.
    private static let fullSize = 512 << 10
    /// The number of bytes above which output is dropped.
    private static let limit = 2 << 20
    /// The number of bytes after which lines are written together.
    private static let blockSize = 64 << 10
    /// The time after which a file that couldn't be written, or a thread that couldn't be made, is tried again.
    private static let retryInterval = Duration.milliseconds(500)

    private let path: String
    private let daemon: DaemonOutput
    private let logger: Logger
    /// The failures of writes to the file.
    private let trouble: Trouble<Failure>
    private let turns: LogTurns
    private let threads: ThreadStart
    /// Called after something was written to the file.
    private let written: @Sendable () -> Void
    private let state: Lock<State>
    /// Locked by the writing thread alone, which may be blocked in it.
    private let writer = Lock(Writer())

    /// - Parameter calm: The time without a failure after which a file that couldn't be written counts as whole again.
    init(
        path: String,
        _ settings: Settings,
        daemon: DaemonOutput,
        logger: Logger,
        turns: LogTurns = LogTurns(),
        calm: Duration = .seconds(5),
        written: @escaping @Sendable () -> Void,
        threads: @escaping ThreadStart = { DetachedThread.run($0) }
    ) {
        self.path = path
        self.turns = turns
        self.threads = threads
        self.daemon = daemon
        self.logger = logger
        trouble = Trouble(calm: calm) { change in
            var metadata: Logger.Metadata = ["coordinator.path": "\(path)"]
            switch change {
            case .began(let failure):
                (metadata["file"], metadata["error"]) = ("\(failure.file)", "\(failure.error)")
                logger.warning("a child's log can't be written; what is missing is counted", metadata: metadata)
            case .ended(let failure, let failures, let lost):
                metadata["file"] = "\(failure.file)"
                (metadata["failures"], metadata["dropped.bytes"]) = ("\(failures)", "\(lost)")
                logger.notice("a child's log can be written again", metadata: metadata)
            }
        }
        self.written = written
        state = Lock(State(settings: settings))
    }

    /// The path of the file; nil when there is none.
    var settings: Settings {
        get { state.withLock { $0.settings } }
        set { state.withLock { $0.settings = newValue } }
    }

    var isFull: Bool { state.withLock { $0.bytes >= Self.fullSize } }

    /// Takes output; no bytes mean that the life's output has ended.
    func received(_ bytes: [UInt8], from origin: OutputOrigin) {
        let time = Timestamp.nowMicroseconds
        let mustStart = state.withLock { state -> Bool in
            // What comes after a gap waits for it to be noted.
            if !bytes.isEmpty, state.dropped.bytes > 0 || state.bytes + bytes.count > Self.limit {
                state.dropped.add(bytes, because: "written faster than it can be stored")
            } else {
                state.bytes += bytes.count
                state.pieces.append(bytes.isEmpty ? .end(origin, time: time) : .output(bytes, origin, time: time))
            }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { startThread() }
    }

    /// Waits until all output that was taken is written, or the waiting task is cancelled.
    ///
    /// - Parameter breaksLines: Whether lines that haven't ended are written too, as parts: nobody may be there to write their rest behind them.
    func flush(breakingLines breaksLines: Bool = false) async {
        let isWritten = OneShot<Void>()
        let (mustWait, mustStart) = state.withLock { state in
            let mustStart = breaksLines && !state.isWriting
            if breaksLines { (state.mustBreak, state.isWriting) = (true, true) }
            if state.isWriting { state.flushes.append(isWritten) }
            return (state.isWriting, mustStart)
        }
        if mustStart { startThread() }
        if mustWait { _ = await isWritten.valueUnlessCancelled() }
    }

    /// Writes what couldn't be written before, if it can be by now.
    private func tryAgain() {
        let mustStart = state.withLock { state in
            state.mustRetry = true
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { startThread() }
    }

    private func startThread() {
        if threads({ self.write() }) { return }
        // None is to be had at the moment. Until then it counts as writing, so that one timer alone tries again.
        _ = Timers.shared.schedule(at: .now + Self.retryInterval) { [weak self] in self?.startThread() }
    }

    // MARK: The writing thread

    private func write() {
        while true {
            let (pieces, settings, dropped, mustBreak) = state.withLock { state in
                defer { (state.pieces, state.dropped, state.mustRetry, state.mustBreak) = ([], Dropped(), false, false) }
                return (state.pieces, state.settings, state.dropped, state.mustBreak)
            }
            let size = pieces.reduce(0) { $0 + $1.count }
            writer.withLock { write(pieces, dropped, settings, breaksLines: mustBreak, &$0) }
            let flushes = state.withLock { state -> [OneShot<Void>]? in
                state.bytes -= size
                guard state.pieces.isEmpty, state.dropped.bytes == 0, !state.mustRetry, !state.mustBreak else { return nil }
                state.isWriting = false
                defer { state.flushes = [] }
                return state.flushes
            }
            guard let flushes else { continue }
            for flush in flushes { flush.settle() }
            return
        }
    }

    private func write(_ pieces: [Piece], _ dropped: Dropped, _ settings: Settings, breaksLines: Bool, _ writer: inout Writer) {
        if settings != writer.settings || writer.file?.path != settings.file { adopt(settings, &writer) }
        var block = Block()
        for piece in pieces {
            switch piece {
            case .output(let bytes, let origin, let time):
                beginLife(origin, time, &writer, &block)
                var lines = origin.isError ? writer.errors : writer.output
                lines.split(bytes) { add($0, isPartial: $1, origin, time, &writer, &block) }
                if origin.isError { writer.errors = lines } else { writer.output = lines }
            case .end(let origin, let time): endLine(origin, time, &writer, &block)
            }
        }
        // A raw line tells by its end alone that it has one.
        if dropped.bytes > 0 { breakLines(isPartial: writer.settings.format != .raw, &writer, &block) }
        if breaksLines { breakLines(isPartial: true, &writer, &block) }
        flush(&block, &writer)
        if dropped.bytes > 0 { writer.dropped.add(Int(dropped.bytes), Int(dropped.lines), because: dropped.reason) }
        if writer.dropped.bytes > 0, writer.file != nil { writeGap(&writer) }
    }

    private func adopt(_ settings: Settings, _ writer: inout Writer) {
        let isSame = writer.file?.path == settings.file && writer.settings.access == settings.access
        writer.settings = settings
        if !isSame {
            writer.file?.close()
            writer.file = settings.file.map {
                LogFile(path: $0, maximumSize: settings.maximumSize, keep: settings.keep, access: settings.access)
            }
            writer.turn = settings.file.map(turns.turn)
            writer.retry = .now
        }
        writer.file?.maximumSize = settings.maximumSize
        writer.file?.keep = settings.keep
    }

    /// Ends the unended line of another life.
    private func beginLife(_ origin: OutputOrigin, _ time: Int64, _ writer: inout Writer, _ block: inout Block) {
        guard let former = origin.isError ? writer.errorOrigin : writer.outputOrigin, former !== origin else {
            if origin.isError { writer.errorOrigin = origin } else { writer.outputOrigin = origin }
            return
        }
        endLine(former, time, &writer, &block)
        if origin.isError { writer.errorOrigin = origin } else { writer.outputOrigin = origin }
    }

    /// Ends the lines of which the rest was dropped, or comes later.
    private func breakLines(isPartial: Bool, _ writer: inout Writer, _ block: inout Block) {
        let time = Timestamp.nowMicroseconds
        for origin in [writer.outputOrigin, writer.errorOrigin].compactMap(\.self) {
            var lines = origin.isError ? writer.errors : writer.output
            lines.end { line, _ in add(line, isPartial: isPartial, origin, time, &writer, &block) }
            if origin.isError { writer.errors = lines } else { writer.output = lines }
        }
    }

    private func endLine(_ origin: OutputOrigin, _ time: Int64, _ writer: inout Writer, _ block: inout Block) {
        guard origin === (origin.isError ? writer.errorOrigin : writer.outputOrigin) else { return }
        var lines = origin.isError ? writer.errors : writer.output
        lines.end { add($0, isPartial: $1, origin, time, &writer, &block) }
        if origin.isError { writer.errors = lines } else { writer.output = lines }
    }

    /// Lines that are written together.
    private struct Block {
        /// The lines for the file.
        var file: [UInt8] = []
        /// The number of these lines.
        var lines = 0
        /// The lines for the daemon's standard error.
        var daemon: [UInt8] = []
        /// The lines for the daemon's standard output.
        var standardOutput: [UInt8] = []
    }

    private func add(
        _ line: ArraySlice<UInt8>,
        isPartial: Bool,
        _ origin: OutputOrigin,
        _ time: Int64,
        _ writer: inout Writer,
        _ block: inout Block
    ) {
        var header = LogEntry.Header(time: Timestamp.bytes(microseconds: time))
        (header.processID, header.incarnation) = (origin.processID, origin.incarnation)
        (header.isError, header.isPartial, header.isShared) = (origin.isError, isPartial, writer.settings.isShared)
        switch writer.settings.daemonCopy {
        case .none: break
        case .labelled: daemon.append(line, header, path: path, to: &block.daemon)
        case .raw where origin.isError: LogEntry.appendRaw(line, isPartial: isPartial, to: &block.daemon)
        case .raw: LogEntry.appendRaw(line, isPartial: isPartial, to: &block.standardOutput)
        }
        if writer.file != nil {
            let former = block.file.count
            LogEntry.append(line, header, path: path, writer.settings.format, to: &block.file)
            // A line isn't divided between two files, and the lines of a burst aren't all in one.
            if former > 0, writer.file?.isBeyondSize(with: block.file.count) == true {
                let next = Array(block.file[former...])
                block.file.removeLast(next.count)
                flush(&block, &writer)
                block.file = next
            }
            block.lines += 1
        }
        if max(block.file.count, block.daemon.count, block.standardOutput.count) >= Self.blockSize { flush(&block, &writer) }
    }

    private func flush(_ block: inout Block, _ writer: inout Writer) {
        defer { block = Block() }
        if !block.daemon.isEmpty { daemon.write(block.daemon, from: .children) }
        if !block.standardOutput.isEmpty { daemon.writeToStandardOutput(block.standardOutput) }
        guard !block.file.isEmpty else { return }
        // The gap comes before the lines that are behind it.
        if writer.dropped.bytes > 0 { writeGap(&writer) }
        guard writer.dropped.bytes == 0 || writer.file == nil else {
            return writer.dropped.add(block.file.count, block.lines, because: writer.dropped.reason)
        }
        do throws(FilePlace.Failure) {
            try append(block.file, &writer)
            written()
        } catch {
            writer.dropped.add(block.file.count, block.lines, because: error.description)
            failed(error, &writer)
        }
    }

    /// Writes to the file how much is missing, if it can be written by now.
    private func writeGap(_ writer: inout Writer) {
        guard MonotonicTime.now >= writer.retry else { return }
        var bytes: [UInt8] = []
        let gap = LogLine.Gap(bytes: writer.dropped.bytes, lines: writer.dropped.lines, reason: writer.dropped.reason)
        var header = LogEntry.Header(time: Timestamp.bytes(microseconds: Timestamp.nowMicroseconds))
        header.isShared = writer.settings.isShared
        LogEntry.append(gap, header, path: path, writer.settings.format, to: &bytes)
        do throws(FilePlace.Failure) { try append(bytes, &writer) } catch { return failed(error, &writer) }
        trouble.succeeded(lost: writer.dropped.bytes)
        writer.dropped = Dropped()
        written()
    }

    private func append(_ bytes: [UInt8], _ writer: inout Writer) throws(FilePlace.Failure) {
        guard var file = writer.file, let turn = writer.turn else { return }
        defer { writer.file = file }
        try turn.take { () throws(FilePlace.Failure) in
            try file.prepare()
            if file.mustRotate(for: bytes.count) {
                // A file that can't be rotated goes on.
                do throws(FilePlace.Failure) { try file.rotate() } catch { try file.prepare() }
            }
            try file.append(bytes)
        }
        guard file.problem != writer.problem else { return }
        writer.problem = file.problem
        guard let problem = file.problem else { return }
        logger.warning(
            "a child's log hasn't the owner or the permissions that it should have",
            metadata: ["coordinator.path": "\(path)", "file": "\(file.path)", "error": "\(problem)"]
        )
    }

    private func failed(_ error: FilePlace.Failure, _ writer: inout Writer) {
        writer.retry = .now + Self.retryInterval
        _ = Timers.shared.schedule(at: writer.retry) { [weak self] in self?.tryAgain() }
        trouble.failed(Failure(file: writer.file?.path ?? "", error: error))
    }
}

extension ChildLog.Piece {
    fileprivate var count: Int {
        if case .output(let bytes, _, _) = self { bytes.count } else { 0 }
    }
}
