import Control

/// What a process has written, as the one text that supervisord's methods count bytes in.
///
/// The text is that of the log that the daemon keeps; a position is therefore another one once the log's oldest file has gone.
struct ProcessLogText: Sendable {
    /// The number of bytes in all.
    private(set) var count = 0
    /// The last bytes, of which a reader gets some.
    private var last: [UInt8] = []
    private let maximum: Int

    /// Creates an empty text that keeps so many of its last bytes.
    init(keeping maximum: Int) { self.maximum = maximum }

    mutating func append(_ line: LogLine) {
        guard line.gap == nil else { return }
        let start = last.count
        last += line.line.utf8
        if line.partial != true { last.append(UInt8(ascii: "\n")) }
        count += last.count - start
        if last.count > 2 * maximum + 4096 { last.removeFirst(last.count - maximum) }
    }

    /// Returns bytes from a position on, of those that are kept.
    func bytes(from position: Int, atMost limit: Int) -> String {
        let first = max(0, position - (count - last.count))
        guard first < last.count else { return "" }
        return String(decoding: last[first...].prefix(limit), as: UTF8.self)
    }
}

extension SupervisordMethods {
    /// The largest number of bytes of a log that an answer has.
    private static let maximumText = 1 << 20

    /// Answers the methods that read a log.
    func log(_ method: String, _ arguments: Arguments) async throws -> XMLRPCValue {
        let process = try await process(try arguments.text(0))
        let (offset, length) = (try arguments.number(1), try arguments.number(2))
        let stream: LogLine.Stream = method.contains("Stderr") ? .stderr : .stdout
        if method.hasPrefix("supervisor.tail") { return try await tail(process, stream, offset: offset, length: length) }
        // A negative offset counts from the end, and then there is no length.
        guard length >= 0, offset >= 0 || length == 0 else { throw XMLRPCFault(.badArguments, "offset \(offset), length \(length)") }
        if offset < 0 {
            // No line is shorter than a byte.
            let wanted = min(offset == .min ? .max : -offset, Self.maximumText)
            let text = try await text(of: process, stream, lines: wanted, keeping: wanted)
            return .string(text.bytes(from: text.count - min(wanted, text.count), atMost: wanted))
        }
        let limit = length == 0 ? Self.maximumText : min(length, Self.maximumText)
        let text = try await text(of: process, stream, lines: nil, keeping: Self.maximumText)
        return .string(text.bytes(from: offset, atMost: limit))
    }

    /// Returns the last bytes of a log, its length, and whether bytes were left out between them and the offset.
    private func tail(_ process: SupervisedProcess, _ stream: LogLine.Stream, offset: Int, length: Int) async throws -> XMLRPCValue {
        let wanted = min(max(0, length), Self.maximumText)
        let text: ProcessLogText
        do {
            text = try await self.text(of: process, stream, lines: nil, keeping: wanted)
        } catch let fault as XMLRPCFault where fault.code == .noFile {
            return .array([.string(""), .integer(0), .boolean(false)])
        }
        // A client that has everything gets nothing.
        let missing = max(0, text.count - max(0, offset))
        let count = min(wanted, text.count)
        let bytes = missing == 0 ? "" : text.bytes(from: text.count - count, atMost: count)
        return .array([.string(bytes), .integer(text.count), .boolean(missing > wanted)])
    }

    private func text(
        of process: SupervisedProcess,
        _ stream: LogLine.Stream,
        lines: Int?,
        keeping maximum: Int
    ) async throws -> ProcessLogText {
        do throws(ControlError) {
            return try await read(LogQuery(paths: [process.path], lines: lines), stream, keeping: maximum)
        } catch {
            if error.code == .noSuchPath { throw XMLRPCFault(.noFile, process.path) }
            throw error
        }
    }

    private func read(_ query: LogQuery, _ stream: LogLine.Stream, keeping maximum: Int) async throws(ControlError) -> ProcessLogText {
        var text = ProcessLogText(keeping: maximum)
        _ = try await daemon.connected().stream(.logs(query), untilSilent: true) { item throws(ControlError) in
            let line = try ControlJSON.decode(LogLine.self, from: item)
            if query.paths.contains(line.path), line.stream == stream { text.append(line) }
        }
        return text
    }
}
