import Glibc

/// The framing of one stream's bytes into lines.
struct LogLines {
    /// The length at which a line is broken.
    static let limit = 8 << 10

    /// The beginning of the line that hasn't ended yet.
    private(set) var unended: [UInt8] = []

    /// Takes bytes and calls a function for each line that they end, and for each part of a line that is too long.
    mutating func split(_ bytes: [UInt8], _ body: (_ line: ArraySlice<UInt8>, _ isPartial: Bool) -> Void) {
        var rest = bytes[...]
        while let end = Self.newline(in: rest) {
            finish(rest[..<end], body)
            rest = rest[(end + 1)...]
        }
        breakUp(&rest, body)
        unended += rest
    }

    /// Ends the line that hasn't ended, if there is one.
    mutating func end(_ body: (_ line: ArraySlice<UInt8>, _ isPartial: Bool) -> Void) {
        guard !unended.isEmpty else { return }
        let line = unended
        unended = []
        body(line[...], false)
    }

    private mutating func finish(_ part: ArraySlice<UInt8>, _ body: (ArraySlice<UInt8>, Bool) -> Void) {
        var part = part
        breakUp(&part, body)
        guard !unended.isEmpty else { return body(part, false) }
        let line = unended + part
        unended = []
        body(line[...], false)
    }

    /// Takes whole parts of the limit's length off a line that goes on.
    private mutating func breakUp(_ rest: inout ArraySlice<UInt8>, _ body: (ArraySlice<UInt8>, Bool) -> Void) {
        while unended.count + rest.count > Self.limit {
            let part = rest.prefix(Self.limit - unended.count)
            rest = rest.dropFirst(part.count)
            let line = unended + part
            unended = []
            body(line[...], true)
        }
    }

    /// Returns the number of lines that the bytes end.
    static func count(in bytes: [UInt8]) -> Int {
        var (count, rest) = (0, bytes[...])
        while let end = newline(in: rest) {
            count += 1
            rest = rest[(end + 1)...]
        }
        return count
    }

    static func newline(in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let found = memchr(base, 0x0A, buffer.count) else { return nil }
            return bytes.startIndex + (UnsafeRawPointer(found) - base)
        }
    }
}
