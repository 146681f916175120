import Control
import DaemonConfiguration
import FoundationEssentials

/// One entry of a log file: its bytes, and how they are written and read.
///
/// A file may have entries in both formats, because the configuration changes; each line tells its own.
enum LogEntry {
    /// The origin and kind of an entry.
    struct Header {
        /// The time, as in `Timestamp`.
        var time: [UInt8]
        var processID: Int32 = 0
        var incarnation: UInt32 = 0
        var isError = false
        var isPartial = false
        /// Whether the file has lines of other children too.
        var isShared = false
    }

    // MARK: Writing

    /// Appends a line in a format.
    ///
    /// The format `lines` is that of Kubernetes' container runtimes, `TIME STREAM TAGS TEXT`, in which `F` stands for a full line and `P` for
    /// one that goes on in the next entry; further tags are the process, the number of the life, the priority if the line has one, and, in a
    /// file of several children, `@` and the child's path, with what a tag can't have as `%` and two digits. See
    /// https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md
    static func append(
        _ text: ArraySlice<UInt8>,
        _ header: Header,
        path: String,
        _ format: LoggingConfiguration.Format,
        to bytes: inout [UInt8]
    ) {
        if format == .raw { return appendRaw(text, isPartial: header.isPartial, to: &bytes) }
        if format == .json {
            appendObject(text, header, path: path, key: "line", to: &bytes)
        } else {
            let (priority, text) = priority(of: text)
            bytes += header.time
            bytes += Array(header.isError ? " stderr ".utf8 : " stdout ".utf8)
            bytes += Array("\(header.isPartial ? "P" : "F"):\(header.processID):\(header.incarnation)".utf8)
            if let priority { bytes += [UInt8(ascii: ":"), UInt8(ascii: "0") + UInt8(priority)] }
            if header.isShared { bytes += tag(of: path) }
            bytes.append(UInt8(ascii: " "))
            bytes += text
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Appends a line as the child has written it; a part of a line has no end.
    static func appendRaw(_ text: ArraySlice<UInt8>, isPartial: Bool, to bytes: inout [UInt8]) {
        bytes += text
        if !isPartial { bytes.append(UInt8(ascii: "\n")) }
    }

    /// Appends a line as a JSON object, in which the text has a key.
    static func appendObject(_ text: ArraySlice<UInt8>, _ header: Header, path: String, key: String, to bytes: inout [UInt8]) {
        let (priority, text) = priority(of: text)
        writeHead(header.time, path, to: &bytes)
        bytes += Array(",\"pid\":\(header.processID),\"incarnation\":\(header.incarnation),".utf8)
        bytes += Array(header.isError ? "\"stream\":\"stderr\"".utf8 : "\"stream\":\"stdout\"".utf8)
        if header.isPartial { bytes += Array(",\"partial\":true".utf8) }
        if let priority { bytes += Array(",\"priority\":\(priority)".utf8) }
        bytes += Array(",\"\(key)\":".utf8)
        appendJSON(text, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends the note that lines are missing.
    static func append(_ gap: LogLine.Gap, _ header: Header, path: String, _ format: LoggingConfiguration.Format, to bytes: inout [UInt8]) {
        let (count, lines) = (gap.bytes ?? 0, gap.lines ?? 0)
        switch format {
        case .raw: bytes += Array("[coordinatord] (\(count) bytes, \(lines) lines are missing: \(gap.reason))".utf8)
        case .lines:
            bytes += header.time + Array(" stdout G:\(count):\(lines)".utf8)
            if header.isShared { bytes += tag(of: path) }
            bytes += Array(" \(gap.reason)".utf8)
        case .json:
            writeHead(header.time, path, to: &bytes)
            bytes += Array(",\"stream\":\"stdout\",\"line\":\"\",\"gap\":{\"bytes\":\(count),\"lines\":\(lines),\"reason\":".utf8)
            appendJSON(Array(gap.reason.utf8)[...], to: &bytes)
            bytes += Array("}}".utf8)
        }
        bytes.append(UInt8(ascii: "\n"))
    }

    /// The bytes that a tag can't have as they are.
    private static func isSpecial(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x7F || byte == 0x25 || byte == 0x3A }

    /// Returns the tag with a child's path.
    private static func tag(of path: String) -> [UInt8] {
        let hexadecimal = Array("0123456789ABCDEF".utf8)
        return Array(":@".utf8)
            + path.utf8.flatMap { byte in
                isSpecial(byte) ? [UInt8(ascii: "%"), hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]] : [byte]
            }
    }

    /// Returns the path that a tag has.
    private static func path(ofTag tag: Substring) -> String {
        var (bytes, rest): ([UInt8], Substring.UTF8View) = ([], tag.dropFirst().utf8)
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let jsonPrefix = Array("{\"time\":\"".utf8)

    private static func writeHead(_ time: [UInt8], _ path: String, to bytes: inout [UInt8]) {
        bytes += jsonPrefix
        bytes += time
        bytes += Array("\",\"path\":".utf8)
        appendJSON(Array(path.utf8)[...], to: &bytes)
    }

    /// Appends a text as a JSON string; bytes that aren't UTF-8 are replaced.
    private static func appendJSON(_ text: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
        let isPlain = text.allSatisfy { (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        bytes.append(UInt8(ascii: "\""))
        if isPlain {
            bytes += text
        } else {
            for byte in String(decoding: text, as: UTF8.self).utf8 {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
                case UInt8(ascii: "\t"): bytes += Array("\\t".utf8)
                case 0..<0x20, 0x7F: bytes += Array("\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
                default: bytes.append(byte)
                }
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Splits a prefix `<N>` off, with which a child tells the priority of a line, see sd-daemon(3).
    static func priority(of text: ArraySlice<UInt8>) -> (Int?, ArraySlice<UInt8>) {
        guard text.first == UInt8(ascii: "<"), let digit = text.dropFirst().first, text.dropFirst(2).first == UInt8(ascii: ">"),
            (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(digit)
        else { return (nil, text) }
        return (Int(digit - UInt8(ascii: "0")), text.dropFirst(3))
    }

    // MARK: Reading

    /// Returns the time of an entry; nil when the entry isn't of this daemon's making.
    static func time(of entry: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let text = entry.first == UInt8(ascii: "{") ? entry.dropFirst(jsonPrefix.count) : entry
        let time = text.prefix(Timestamp.length)
        guard time.count == Timestamp.length, time.last == UInt8(ascii: "Z"), time.first.map({ (0x30...0x39).contains($0) }) == true
        else { return nil }
        return time
    }

    /// Reads an entry; what another program has written is a line without an origin.
    static func line(_ entry: ArraySlice<UInt8>, path: String, formerTime: String) -> LogLine {
        if entry.first == UInt8(ascii: "{"), var line = try? JSONDecoder().decode(LogLine.self, from: Data(entry)) {
            (line.pid, line.incarnation) = (known(line.pid), known(line.incarnation))
            return line
        }
        let words = entry.split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
        guard words.count == 4, let time = time(of: entry) else {
            return LogLine(time: formerTime, path: path, line: String(decoding: entry, as: UTF8.self))
        }
        var tags = String(decoding: words[2], as: UTF8.self).split(separator: ":")
        var line = LogLine(time: String(decoding: time, as: UTF8.self), path: path, line: String(decoding: words[3], as: UTF8.self))
        if let tag = tags.last, tag.hasPrefix("@/") {
            line.path = Self.path(ofTag: tag)
            tags.removeLast()
        }
        if tags.first == "G" {
            let numbers = tags.dropFirst().map { Int64($0) ?? 0 }
            line.gap = LogLine.Gap(bytes: numbers.first, lines: numbers.dropFirst().first, reason: line.line)
            line.line = ""
            return line
        }
        line.stream = words[1].elementsEqual("stderr".utf8) ? .stderr : .stdout
        line.partial = tags.first == "P" ? true : nil
        line.pid = known(tags.dropFirst().first.flatMap { Int32($0) })
        line.incarnation = known(tags.dropFirst(2).first.flatMap { UInt32($0) })
        line.priority = tags.dropFirst(3).first.flatMap { Int($0) }
        return line
    }

    /// Returns a number, unless it stands for one that isn't known.
    private static func known<Number: FixedWidthInteger>(_ number: Number?) -> Number? { number == 0 ? nil : number }
}
