/// Reads one value, and the values inside it, from one buffer.
///
/// The reader is the `Decoder` of every value that it reads: it saves the state of the current value around the values inside that. The end of
/// each value is known, so that keys are found in any order, and a type may read less than the value contains.
final class CompactReader: Decoder {
    let bytes: Bytes
    @exclusivity(unchecked) private var start: Int
    @exclusivity(unchecked) private var limit: Int
    @exclusivity(unchecked) private(set) var depth: Int
    /// The position of the map that was read last, and the position at which its next entry is expected.
    @exclusivity(unchecked) private var expectedMap = -1
    @exclusivity(unchecked) private var expectedEntry = 0
    /// The map that was searched last for an entry in another place, the number of searches, and after several searches its values by name.
    @exclusivity(unchecked) private var index: (map: Int, searches: Int, values: [String: Int]?) = (-1, 0, nil)

    /// The first error in a place where none could be thrown.
    @exclusivity(unchecked) private(set) var fault: (any Error)?
    private let parent: CompactReader?

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ bytes: Bytes, at start: Int, limit: Int, depth: Int = 0, parent: CompactReader? = nil) {
        self.bytes = bytes
        self.parent = parent
        self.start = start
        self.limit = limit
        self.depth = depth
    }

    // MARK: Decoder

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try keyed(by: type, at: start, limit: limit)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try unkeyed(at: start, limit: limit)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        CompactSingleValueDecodingContainer(reader: self, position: start, limit: limit)
    }

    /// The tag of the current value, or `nil` where there is none.
    var tag: UInt8? {
        start < limit ? bytes[start] : nil
    }

    // MARK: Values

    /// Reads a value of any type and moves the position to its end.
    func decode<Value: Decodable>(_ type: Value.Type, at position: inout Int, limit: Int) throws -> Value {
        // The casts are between equal types, which the line above each has just established; `as!` would look them up at run time.
        if type == String.self {
            return unsafeBitCast(try readString(&position, limit), to: type)
        }
        if type == Int.self {
            return unsafeBitCast(try readInteger(&position, limit) as Int, to: type)
        }
        if type == Bool.self {
            return unsafeBitCast(try readBool(&position, limit), to: type)
        }
        if type == Double.self {
            return unsafeBitCast(try readFloatingPoint(&position, limit) as Double, to: type)
        }
        if type == UInt8.self {
            return unsafeBitCast(try readInteger(&position, limit) as UInt8, to: type)
        }
        switch position < limit ? bytes[position] : CompactTag.null {
        case CompactTag.bytes:
            if type == [UInt8].self {
                return unsafeBitCast(Array(try readBytes(&position, limit)), to: type)
            }
        case CompactTag.array:
            if type == [String].self {
                return unsafeBitCast(try readElements(&position, limit) { try readString(&$0, $1) }, to: type)
            }
            if type == [Int].self {
                return unsafeBitCast(try readElements(&position, limit) { try readInteger(&$0, $1) as Int }, to: type)
            }
            if type == [Double].self {
                return unsafeBitCast(try readElements(&position, limit) { try readFloatingPoint(&$0, $1) as Double }, to: type)
            }
        default:
            break
        }
        return try decodeByItself(type, at: &position, limit: limit)
    }

    /// Asks a type to decode itself from the value at a position.
    private func decodeByItself<Value: Decodable>(_ type: Value.Type, at position: inout Int, limit: Int) throws -> Value {
        guard depth < CompactLimits.depth else {
            throw Self.corrupted("values lie more than \(CompactLimits.depth) deep inside one another", at: position)
        }
        let end = try end(of: position, limit: limit)
        let outer = (start, self.limit)
        (start, self.limit) = (position, end)
        depth += 1
        defer {
            (start, self.limit) = outer
            depth -= 1
        }
        let value = try type.init(from: self)
        position = end
        return value
    }

    func keyed<Key: CodingKey>(by type: Key.Type, at position: Int, limit: Int) throws -> KeyedDecodingContainer<Key> {
        let range = try range(of: CompactTag.map, at: position, limit: limit, as: [String: Any].self)
        return KeyedDecodingContainer(CompactKeyedDecodingContainer<Key>(reader: self, range: range))
    }

    func unkeyed(at position: Int, limit: Int) throws -> any UnkeyedDecodingContainer {
        if position < limit, bytes[position] == CompactTag.bytes {
            return try elements(ofBytesAt: position, limit: limit)
        }
        let range = try range(of: CompactTag.array, at: position, limit: limit, as: [Any].self)
        return CompactUnkeyedDecodingContainer(reader: self, range: range)
    }

    /// Creates a decoder that its user may keep.
    func decoder(at position: Int, limit: Int) throws -> CompactReader {
        guard depth < CompactLimits.depth else {
            throw Self.corrupted("decoders lie more than \(CompactLimits.depth) deep inside one another", at: position)
        }
        return CompactReader(bytes, at: position, limit: try end(of: position, limit: limit), depth: depth + 1, parent: self)
    }

    // MARK: Maps

    /// Returns the position of a key's value.
    @inline(__always)
    func find(_ name: String, in map: Range<Int>) -> Int? {
        // Types nearly always read their keys in the order in which they wrote them, so that the entry is at the end of the last one.
        let entry = expectedMap == map.lowerBound ? expectedEntry : map.lowerBound
        if let value = match(name, at: entry, limit: map.upperBound) {
            return value
        }
        return search(name, in: map)
    }

    /// Stores the position at which the next entry of a map begins.
    @inline(__always)
    func expectNext(in map: Range<Int>, at position: Int) {
        expectedMap = map.lowerBound
        expectedEntry = position
    }

    /// Returns the keys of a map, in the order in which they were written.
    func names(in map: Range<Int>) -> [String] {
        var names: [String] = []
        forEachEntry(of: map) { name, _ in names.append(name) }
        return names
    }

    /// Returns the number of elements of an array.
    func count(of array: Range<Int>) -> Int {
        var count = 0
        var position = array.lowerBound
        do {
            while position < array.upperBound {
                position = try end(of: position, limit: array.upperBound)
                count += 1
            }
        } catch {
            keepError(error)
        }
        return count
    }

    /// Keeps an error until the decoder can throw it, when the value is complete.
    private func keepError(_ error: any Error) {
        if let parent {
            parent.keepError(error)
        } else if fault == nil {
            fault = error
        }
    }

    /// Calls a function with the name of each entry and the position of its value.
    private func forEachEntry(of map: Range<Int>, _ body: (String, Int) -> Void) {
        var position = map.lowerBound
        do {
            while position < map.upperBound {
                let name = try readText(&position, map.upperBound)
                body(name, position)
                position = try end(of: position, limit: map.upperBound)
            }
        } catch {
            keepError(error)
        }
    }

    /// Returns the position of the value if the entry at this position has this name.
    @inline(__always)
    private func match(_ name: String, at entry: Int, limit: Int) -> Int? {
        var position = entry
        guard position < limit, let count = length(&position, limit) else {
            return nil
        }
        var name = name
        let start = position
        // A pointer to the name, for the length of the call; Swift's own strings are contiguous UTF-8 already.
        let isEqual = name.withUTF8 { wanted in
            guard wanted.count == count else { return false }
            for offset in 0..<count where wanted[offset] != bytes[start + offset] {
                return false
            }
            return true
        }
        return isEqual ? position + count : nil
    }

    @inline(never)
    private func search(_ name: String, in map: Range<Int>) -> Int? {
        if index.map == map.lowerBound {
            index.searches += 1
        } else {
            index = (map: map.lowerBound, searches: 1, values: nil)
        }
        // Repeated searches of a large map would take quadratic time.
        if index.searches > 16, map.count > 512 {
            if index.values == nil {
                index.values = values(in: map)
            }
            return index.values?[name]
        }
        var position = map.lowerBound
        do {
            while position < map.upperBound {
                if let value = match(name, at: position, limit: map.upperBound) {
                    return value
                }
                guard let count = length(&position, map.upperBound) else {
                    throw Self.truncated(at: position)
                }
                position = try end(of: position + count, limit: map.upperBound)
            }
        } catch {
            keepError(error)
        }
        return nil
    }

    /// Returns the positions of a map's values by name; of equal names the first counts.
    private func values(in map: Range<Int>) -> [String: Int] {
        var values: [String: Int] = [:]
        forEachEntry(of: map) { name, position in
            if values[name] == nil {
                values[name] = position
            }
        }
        return values
    }
}

extension CompactReader {
    /// Returns the end of the value at a position, which is never beyond the limit.
    func end(of position: Int, limit: Int) throws -> Int {
        guard position < limit else {
            throw Self.corrupted("a value is missing", at: position)
        }
        let tag = bytes[position]
        var cursor = position + 1
        let size: Int
        switch tag {
        case CompactTag.zero..., CompactTag.null, CompactTag.false, CompactTag.true:
            size = 0
        case CompactTag.map, CompactTag.array:
            guard limit - cursor >= 4 else {
                throw Self.truncated(at: position)
            }
            size = 4 + Int(readUInt32(at: cursor))
        case CompactTag.text, CompactTag.bytes:
            guard let count = length(&cursor, limit) else {
                throw Self.truncated(at: position)
            }
            size = count
        case CompactTag.natural, CompactTag.negative:
            _ = try varint(&cursor, limit)
            size = 0
        case CompactTag.float: size = 4
        case CompactTag.double: size = 8
        case CompactTag.int128, CompactTag.uint128: size = 16
        default:
            throw Self.corrupted("found \(CompactTag.name(of: tag))", at: position)
        }
        guard size <= limit - cursor else {
            throw Self.truncated(at: position)
        }
        return cursor + size
    }

    /// Returns the range of the content of an array or a map.
    func range(of tag: UInt8, at position: Int, limit: Int, as type: Any.Type) throws -> Range<Int> {
        try expect(tag, at: position, limit: limit, as: type)
        let end = try end(of: position, limit: limit)
        return position + CompactLimits.containerHeaderSize..<end
    }

    @inline(__always)
    func isNull(at position: Int) -> Bool {
        position < bytes.endIndex && bytes[position] == CompactTag.null
    }

    @inline(__always)
    func readBool(_ position: inout Int, _ limit: Int) throws -> Bool {
        guard position < limit, bytes[position] == CompactTag.true || bytes[position] == CompactTag.false else {
            throw mismatch(Bool.self, at: position, limit: limit)
        }
        position += 1
        return bytes[position - 1] == CompactTag.true
    }

    @inline(__always)
    func readString(_ position: inout Int, _ limit: Int) throws -> String {
        try expect(CompactTag.text, at: position, limit: limit, as: String.self)
        position += 1
        return try readText(&position, limit)
    }

    /// Reads bytes without copying them.
    func readBytes(_ position: inout Int, _ limit: Int) throws -> Bytes {
        try expect(CompactTag.bytes, at: position, limit: limit, as: Bytes.self)
        var cursor = position + 1
        guard let count = length(&cursor, limit) else {
            throw Self.truncated(at: position)
        }
        position = cursor + count
        return bytes[cursor..<position]
    }

    /// Reads a number as floating point.
    ///
    /// Integers are accepted too, and rounded if necessary, as by `JSONDecoder`.
    func readFloatingPoint<Value: BinaryFloatingPoint>(_ position: inout Int, _ limit: Int) throws -> Value {
        let end = try end(of: position, limit: limit)
        let value: Value?
        switch bytes[position] {
        case CompactTag.double:
            let bits = UInt64(readUInt32(at: position + 1)) | UInt64(readUInt32(at: position + 5)) << 32
            let double = Double(bitPattern: bits)
            let converted = Value(double)
            // A finite value must not become infinite.
            value = converted.isInfinite && double.isFinite ? nil : converted
        case CompactTag.float:
            value = Value(Float(bitPattern: readUInt32(at: position + 1)))
        case CompactTag.uint128:
            value = Value(readUInt128(at: position + 1))
        case CompactTag.natural, CompactTag.negative, CompactTag.int128, CompactTag.zero...:
            var cursor = position
            value = Value(try readInteger(&cursor, limit) as Int128)
        default:
            value = nil
        }
        guard let value else {
            throw mismatch(Value.self, at: position, limit: limit)
        }
        position = end
        return value
    }

    /// Reads an integer, which has to fit.
    @inline(__always)
    func readInteger<Value: FixedWidthInteger>(_ position: inout Int, _ limit: Int) throws -> Value {
        if position < limit, bytes[position] >= CompactTag.zero {
            position += 1
            // 0 to 127 fit in every integer.
            return Value(truncatingIfNeeded: bytes[position - 1] & 0x7F)
        }
        return try readLongInteger(&position, limit)
    }

    private func readLongInteger<Value: FixedWidthInteger>(_ position: inout Int, _ limit: Int) throws -> Value {
        let end = try end(of: position, limit: limit)
        var cursor = position + 1
        let value: Value?
        switch bytes[position] {
        case CompactTag.natural:
            value = Value(exactly: try varint(&cursor, limit))
        case CompactTag.negative:
            value = Value(exactly: ~Int128(try varint(&cursor, limit)))
        case CompactTag.int128:
            value = Value(exactly: Int128(truncatingIfNeeded: readUInt128(at: cursor)))
        case CompactTag.uint128:
            value = Value(exactly: readUInt128(at: cursor))
        default:
            throw mismatch(Value.self, at: position, limit: limit)
        }
        guard let value else {
            throw Self.corrupted("an integer doesn't fit in \(Value.self)", at: position)
        }
        position = end
        return value
    }

    /// Reads a length and a text.
    @inline(__always)
    func readText(_ position: inout Int, _ limit: Int) throws -> String {
        guard let count = length(&position, limit) else {
            throw Self.truncated(at: position)
        }
        guard let text = String(checking: bytes[position..<position + count]) else {
            throw Self.corrupted("a text of \(count) bytes is not UTF-8", at: position)
        }
        position += count
        return text
    }

    /// Reads a length, which does not reach beyond the limit.
    @inline(__always)
    func length(_ position: inout Int, _ limit: Int) -> Int? {
        guard position < limit else { return nil }
        let byte = bytes[position]
        if byte < 0x80 {
            guard Int(byte) < limit - position else { return nil }
            position += 1
            return Int(byte)
        }
        var cursor = position
        guard let value = try? varint(&cursor, limit), value <= UInt64(limit - cursor) else { return nil }
        position = cursor
        return Int(value)
    }

    private func varint(_ position: inout Int, _ limit: Int) throws -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < limit, shift < 64 {
            let byte = bytes[position]
            position += 1
            // The tenth byte holds the last bit.
            guard shift < 63 || byte <= 1 else { break }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw Self.corrupted("an integer does not end", at: position)
    }

    @inline(__always)
    private func readUInt32(at position: Int) -> UInt32 {
        UInt32(bytes[position]) | UInt32(bytes[position + 1]) << 8 | UInt32(bytes[position + 2]) << 16 | UInt32(bytes[position + 3]) << 24
    }

    private func readUInt128(at position: Int) -> UInt128 {
        (0..<16).reduce(0) { $0 | UInt128(bytes[position + $1]) << UInt128($1 * 8) }
    }
}

extension CompactReader {
    /// Reads an array without asking it to decode itself, which looks up types for every element.
    @inline(__always)
    func readElements<Element>(
        _ position: inout Int,
        _ limit: Int,
        _ read: (inout Int, Int) throws -> Element
    ) throws -> [Element] {
        let range = try range(of: CompactTag.array, at: position, limit: limit, as: [Element].self)
        var elements: [Element] = []
        var cursor = range.lowerBound
        while cursor < range.upperBound {
            do {
                elements.append(try read(&cursor, range.upperBound))
            } catch {
                throw error.inside(CompactKey(intValue: elements.count))
            }
        }
        position = cursor
        return elements
    }

    /// Lets bytes be read element by element.
    func elements(ofBytesAt position: Int, limit: Int) throws -> any UnkeyedDecodingContainer {
        var position = position
        var elements: [UInt8] = []
        for byte in try readBytes(&position, limit) {
            if byte < CompactTag.zero {
                elements.append(CompactTag.zero | byte)
            } else {
                elements += [CompactTag.natural, byte, 1]
            }
        }
        let reader = CompactReader(elements[...], at: 0, limit: elements.count, depth: depth)
        return CompactUnkeyedDecodingContainer(reader: reader, range: 0..<elements.count)
    }

    // MARK: Errors

    /// Throws unless a value begins with the tag.
    @inline(__always)
    func expect(_ tag: UInt8, at position: Int, limit: Int, as type: Any.Type) throws {
        guard position < limit, bytes[position] == tag else {
            throw mismatch(type, at: position, limit: limit)
        }
    }

    @inline(never)
    func mismatch(_ type: Any.Type, at position: Int, limit: Int) -> DecodingError {
        guard position < limit else {
            return .valueNotFound(type, Self.context("a value is missing", at: position))
        }
        let found = Self.context("found \(CompactTag.name(of: bytes[position]))", at: position)
        return bytes[position] == CompactTag.null ? .valueNotFound(type, found) : .typeMismatch(type, found)
    }

    @inline(never)
    static func missing(_ key: some CodingKey, at position: Int) -> DecodingError {
        .keyNotFound(key, context("no value for key \"\(key.stringValue)\"", at: position))
    }

    static func noElement(at position: Int) -> DecodingError {
        .valueNotFound(Any.self, context("the array has no more elements", at: position))
    }

    @inline(never)
    static func truncated(at position: Int) -> DecodingError {
        corrupted("a value reaches beyond what contains it", at: position)
    }

    @inline(never)
    static func corrupted(_ description: String, at position: Int) -> DecodingError {
        .dataCorrupted(context(description, at: position))
    }

    private static func context(_ description: String, at position: Int) -> DecodingError.Context {
        DecodingError.Context(codingPath: [], debugDescription: "\(description) (byte \(position))")
    }
}
