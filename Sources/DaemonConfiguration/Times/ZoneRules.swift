/// The offsets of a time zone from UTC, as the system's database of zones has them.
///
/// It's read from the file here, and not by localtime_r(3): a zone of that is the process's, by a variable of its environment.
///
/// The form: https://www.rfc-editor.org/rfc/rfc9636
package struct ZoneRules: Sendable, Hashable {
    /// What is wrong with a file.
    package struct Problem: Error, Hashable, CustomStringConvertible {
        package let description: String
        init(_ description: String) { self.description = description }
    }

    package static let utc = ZoneRules(offset: 0)

    /// The times at which an offset begins, in seconds since 1970, in order.
    private var times: [Int64] = []
    /// The offsets that begin then, in seconds east of UTC.
    private var offsets: [Int] = []
    /// The offset before the first time.
    private var first: Int
    /// What holds after the last time; nil: the last offset.
    private var rule: ZoneRule?

    private init(offset: Int) { first = offset }

    /// Reads a file of the database.
    package init(file bytes: [UInt8]) throws(Problem) {
        var reader = ByteReader(bytes)
        var header = try Header(&reader)
        var width = 4
        if header.version >= UInt8(ascii: "2") {
            // What follows has times of 64 bits.
            try reader.skip(header.length(4))
            header = try Header(&reader)
            width = 8
        }
        guard header.typeCount > 0, header.leapCount == 0 else {
            throw Problem(header.typeCount == 0 ? "it has no offsets" : "it counts leap seconds, which no clock here does")
        }
        for _ in 0..<header.timeCount {
            let time = try reader.integer(width)
            if let last = times.last, time <= last { throw Problem("its times aren't in order") }
            times.append(time)
        }
        var indices: [Int] = []
        for _ in 0..<header.timeCount { indices.append(Int(try reader.byte())) }
        var types: [Int] = []
        for _ in 0..<header.typeCount {
            types.append(try Self.checked(Int(try reader.integer(4))))
            try reader.skip(2)
        }
        guard indices.allSatisfy({ $0 < types.count }) else { throw Problem("it names an offset that it doesn't have") }
        offsets = indices.map { types[$0] }
        first = types[0]
        try reader.skip(header.length(width) - header.timeCount * (width + 1) - header.typeCount * 6)
        guard width == 8 else { return }
        let footer = try reader.line()
        if !footer.isEmpty { rule = try ZoneRule(footer) }
    }

    static func checked(_ offset: Int) throws(Problem) -> Int {
        guard (-93_600...93_600).contains(offset) else { throw Problem("it has an offset of \(offset) s") }
        return offset
    }

    /// Returns the seconds by which the zone's clock is ahead of UTC.
    package func offset(at time: Int64) -> Int {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] <= time { low = middle + 1 } else { high = middle }
        }
        if low == times.count, let rule { return rule.offset(at: time) }
        return low == 0 ? first : offsets[low - 1]
    }

    /// Returns the times at which the clock shows a time of day.
    ///
    /// - Parameters:
    ///   - local: What the clock shows, in seconds since the beginning of its 1970.
    ///   - near: The offsets around.
    ///   - isAsShown: Whether all times count at which it shows that; otherwise the first one does, or, if there is none, the end of what
    ///     the clock leaves out.
    func times(of local: Int64, _ near: Set<Int>, _ isAsShown: Bool) -> [Int64] {
        let shown = near.map { local - Int64($0) }.filter { $0 + Int64(offset(at: $0)) == local }
        if isAsShown { return shown }
        if let first = shown.min() { return [first] }
        // Before `low` the clock shows less, and from `high` on more.
        var (low, high) = (local - Int64(near.max() ?? 0), local - Int64(near.min() ?? 0))
        guard low + Int64(offset(at: low)) <= local, high + Int64(offset(at: high)) > local else { return [] }
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if middle + Int64(offset(at: middle)) > local { high = middle } else { low = middle }
        }
        return [high]
    }
}

/// The counts at the beginning of each part of a file.
private struct Header {
    let version: UInt8
    let utCount, standardCount, leapCount, timeCount, typeCount, nameLength: Int

    init(_ reader: inout ByteReader) throws(ZoneRules.Problem) {
        guard try reader.bytes(4) == Array("TZif".utf8)[...] else { throw ZoneRules.Problem("it's no file of a time zone") }
        version = try reader.byte()
        try reader.skip(15)
        var counts: [Int] = []
        for _ in 0..<6 {
            let count = Int(try reader.integer(4))
            // No zone has as many; so no sum overflows.
            guard (0...100_000).contains(count) else { throw ZoneRules.Problem("it says that it has \(count) entries") }
            counts.append(count)
        }
        (utCount, standardCount, leapCount, timeCount, typeCount, nameLength) =
            (counts[0], counts[1], counts[2], counts[3], counts[4], counts[5])
    }

    /// The bytes that follow, with times of some width.
    func length(_ width: Int) -> Int {
        timeCount * (width + 1) + typeCount * 6 + nameLength + leapCount * (width + 4) + standardCount + utCount
    }
}

private struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func bytes(_ count: Int) throws(ZoneRules.Problem) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw ZoneRules.Problem("it ends too early") }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func skip(_ count: Int) throws(ZoneRules.Problem) { _ = try bytes(count) }

    mutating func byte() throws(ZoneRules.Problem) -> UInt8 { try bytes(1).first ?? 0 }

    /// Reads a signed number, its highest byte first.
    mutating func integer(_ width: Int) throws(ZoneRules.Problem) -> Int64 {
        let bytes = try bytes(width)
        let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return width == 8 ? Int64(bitPattern: value) : Int64(Int32(truncatingIfNeeded: value))
    }

    /// Reads a line that a newline precedes and another follows.
    mutating func line() throws(ZoneRules.Problem) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        guard try byte() == newline, let end = rest.firstIndex(of: newline) else { throw ZoneRules.Problem("it has no last line") }
        return Array(rest[..<end])
    }
}
