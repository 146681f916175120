import ConcurrencySupport
import Control
import Processes
import WireProtocol

/// The reading of several children's logs, merged by time.
///
/// Each step reads files and belongs on a thread of its own.
struct LogReading {
    /// The largest number of lines that are read at a time, and of their bytes.
    private static let pageLines = 256
    private static let pageBytes = 64 << 10

    private struct Head {
        var cursor: LogCursor
        /// The next entry, which hasn't been used.
        var next: LogCursor.Next?
    }

    private let since: String?
    private let pattern: String?
    private let follows: Bool
    private var heads: [Head] = []
    /// The number of lines that are left out before the first one is used.
    private var skipped = 0

    init(_ places: [ChildLogs.Place], _ query: LogQuery) throws(ControlError) {
        since = query.sinceMilliseconds.map { Timestamp.text(milliseconds: $0) }
        pattern = query.pattern
        follows = query.follows
        _ = try Filter(since: since, pattern: pattern)
        try add(places)
        if let lines = query.lines { try skip(toLast: lines) }
    }

    /// Adds logs that there weren't before.
    mutating func add(_ places: [ChildLogs.Place]) throws(ControlError) {
        for place in places {
            guard let file = place.file, !heads.contains(where: { $0.cursor.file == file && $0.cursor.path == place.path }) else {
                continue
            }
            // Nothing tells which child has written a line.
            if place.isRaw, heads.contains(where: { $0.cursor.file == file }) { continue }
            let origin = LogCursor.Origin(path: place.path, isRaw: place.isRaw, isShared: place.isShared)
            var cursor = LogCursor(origin, file: file, keep: place.keep)
            if !follows { cursor.bound() }
            heads.append(Head(cursor: cursor))
        }
    }

    mutating func close() {
        for index in heads.indices { heads[index].cursor.close() }
    }

    /// Counts the lines there are, so that only the last ones are used.
    private mutating func skip(toLast count: Int) throws(ControlError) {
        for index in heads.indices {
            var total = 0
            let filter = try Filter(since: since, pattern: pattern)
            // What is written during the count comes after what is counted.
            if follows { heads[index].cursor.bound() }
            while let next = heads[index].cursor.next() {
                if filter.wants(next, heads[index].cursor.origin) { total += 1 }
            }
            heads[index].cursor.rewind()
            if follows { heads[index].cursor.unbound() }
            skipped += total
        }
        skipped = max(0, skipped - count)
    }

    /// Returns the next lines; none when there are no more at the moment.
    mutating func page() throws(ControlError) -> [JSONValue] {
        let filter = try Filter(since: since, pattern: pattern)
        var (lines, bytes): ([JSONValue], Int) = ([], 0)
        while lines.count < Self.pageLines, bytes < Self.pageBytes, let (next, origin) = earliest() {
            guard filter.wants(next, origin) else { continue }
            if skipped > 0 {
                skipped -= 1
                continue
            }
            let line = next.line(origin)
            bytes += line.line.utf8.count + 100
            lines.append(line.json)
        }
        return lines
    }

    /// Returns the earliest of the next entries of all logs.
    private mutating func earliest() -> (LogCursor.Next, LogCursor.Origin)? {
        var best: (index: Int, time: String)?
        for index in heads.indices {
            if heads[index].next == nil { heads[index].next = heads[index].cursor.next() }
            guard let next = heads[index].next else { continue }
            let time = next.time
            if let best, best.time <= time { continue }
            best = (index, time)
        }
        guard let best, let next = heads[best.index].next else { return nil }
        heads[best.index].next = nil
        return (next, heads[best.index].cursor.origin)
    }
}

/// The choice of lines.
private struct Filter {
    private let since: String?
    private let pattern: LinePattern?

    init(since: String?, pattern: String?) throws(ControlError) {
        self.since = since
        do throws(LinePattern.Problem) {
            self.pattern = try pattern.map { text throws(LinePattern.Problem) in try LinePattern(text) }
        } catch {
            throw ControlError(.invalidRequest, error.message)
        }
    }

    func wants(_ next: LogCursor.Next, _ origin: LogCursor.Origin) -> Bool {
        guard case .entry(_, let time) = next else { return true }
        if let since, time < since { return false }
        guard pattern != nil || origin.isShared else { return true }
        let line = next.line(origin)
        if origin.isShared, line.path != origin.path { return false }
        guard let pattern else { return true }
        return line.gap != nil || pattern.matches(line.line)
    }
}

extension LogCursor.Next {
    fileprivate var time: String {
        switch self {
        case .entry(_, let time): time
        case .gap: ""
        }
    }

    fileprivate func line(_ origin: LogCursor.Origin) -> LogLine {
        switch self {
        case .gap(let reason): LogLine(time: Timestamp.now, path: origin.path, line: "", gap: .init(reason: reason))
        case .entry(let entry, let time) where origin.isRaw:
            LogLine(time: time, path: origin.path, line: String(decoding: entry, as: UTF8.self))
        case .entry(let entry, let time): LogEntry.line(entry, path: origin.path, formerTime: time)
        }
    }
}

extension LogLine {
    /// The line as a JSON object.
    fileprivate var json: JSONValue {
        var fields: [String: JSONValue] = [
            "time": .string(time), "path": .string(path), "stream": .string(stream.rawValue), "line": .string(line),
        ]
        fields["pid"] = pid.map { .integer(Int64($0)) }
        fields["incarnation"] = incarnation.map { .integer(Int64($0)) }
        fields["partial"] = partial.map(JSONValue.bool)
        fields["priority"] = priority.map { .integer(Int64($0)) }
        if let gap {
            var numbers: [String: JSONValue] = ["reason": .string(gap.reason)]
            numbers["bytes"] = gap.bytes.map(JSONValue.integer)
            numbers["lines"] = gap.lines.map(JSONValue.integer)
            fields["gap"] = .object(numbers)
        }
        return .object(fields)
    }
}
