/// Decodes what ``CompactEncoder`` encoded.
///
/// Decoding is total: whatever the bytes are, it returns a value or throws, in time and memory that are bounded by the number of bytes and the shape of
/// the type.
public struct CompactDecoder: Sendable {
    /// Creates a decoder, which has no state.
    public init() {}

    /// Returns the value that all of the bytes encode.
    ///
    /// - Throws: `DecodingError` when the bytes are not such a value, or bytes are left over, and the errors of the type's own `init(from:)`. The
    ///   coding path says where in the value, the description where in the bytes.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: Bytes) throws -> Value {
        guard bytes.endIndex <= UInt32.max else {
            throw CompactReader.corrupted("\(bytes.count) bytes are too many", at: bytes.startIndex)
        }
        let reader = CompactReader(bytes, at: bytes.startIndex, limit: bytes.endIndex)
        var position = bytes.startIndex
        let value = try reader.decode(type, at: &position, limit: bytes.endIndex)
        if let fault = reader.fault {
            throw fault
        }
        guard position == bytes.endIndex else {
            throw CompactReader.corrupted("\(bytes.endIndex - position) bytes follow the value", at: position)
        }
        return value
    }

    /// Returns the value that all of the bytes encode.
    ///
    /// - Throws: `DecodingError`, as for a slice.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try decode(type, from: bytes[...])
    }
}

/// Reads the entries of a map, at full speed in the order in which they were written and in any other order too.
struct CompactKeyedDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reader: CompactReader
    let range: Range<Int>

    var codingPath: [any CodingKey] { [] }

    var allKeys: [Key] {
        var keys: [Key] = []
        // Not `compactMap`: unspecialised, it takes twice as long, and every enumeration with payloads comes through here.
        for name in reader.names(in: range) {
            if let key = Key(stringValue: name) {
                keys.append(key)
            }
        }
        return keys
    }

    func contains(_ key: Key) -> Bool {
        reader.find(key.stringValue, in: range) != nil
    }

    @inline(__always)
    private func find(_ key: some CodingKey) throws -> Int {
        guard let position = reader.find(key.stringValue, in: range) else {
            throw CompactReader.missing(key, at: range.lowerBound)
        }
        return position
    }

    @inline(__always)
    private func value<Value>(_ key: Key, _ read: (CompactReader, inout Int) throws -> Value) throws -> Value {
        var position = try find(key)
        do {
            let value = try read(reader, &position)
            reader.expectNext(in: range, at: position)
            return value
        } catch {
            throw error.inside(key)
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        var position = try find(key)
        do {
            let value = try reader.decode(type, at: &position, limit: range.upperBound)
            reader.expectNext(in: range, at: position)
            return value
        } catch {
            throw error.inside(key)
        }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        let position = try find(key)
        guard reader.isNull(at: position) else {
            return false
        }
        reader.expectNext(in: range, at: position + 1)
        return true
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let position = try find(key)
        do {
            return try reader.keyed(by: type, at: position, limit: range.upperBound)
        } catch {
            throw error.inside(key)
        }
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        let position = try find(key)
        do {
            return try reader.unkeyed(at: position, limit: range.upperBound)
        } catch {
            throw error.inside(key)
        }
    }

    func superDecoder() throws -> any Decoder {
        try reader.decoder(at: try find(CompactKey.super), limit: range.upperBound)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try reader.decoder(at: try find(key), limit: range.upperBound)
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try value(key) { reader, position in try reader.readBool(&position, range.upperBound) }
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try value(key) { reader, position in try reader.readString(&position, range.upperBound) }
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try value(key) { reader, position in try reader.readFloatingPoint(&position, range.upperBound) }
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try value(key) { reader, position in try reader.readFloatingPoint(&position, range.upperBound) }
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }

    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try value(key) { reader, position in try reader.readInteger(&position, range.upperBound) }
    }
}

/// Reads the elements of an array.
///
/// After an element that can't be decoded as the requested type, the container still stands at that element.
struct CompactUnkeyedDecodingContainer: UnkeyedDecodingContainer {
    let reader: CompactReader
    // Half a word each, so that an existential holds the container without allocating: that is most of the time of reading a short array.
    private let lower: UInt32
    private let upper: UInt32
    private var current: UInt32
    private var index: UInt32 = 0

    init(reader: CompactReader, range: Range<Int>) {
        self.reader = reader
        // The decoder takes no more bytes than these numbers count.
        self.lower = UInt32(clamping: range.lowerBound)
        self.upper = UInt32(clamping: range.upperBound)
        self.current = lower
    }

    private var position: Int { Int(current) }
    private var limit: Int { Int(upper) }

    var codingPath: [any CodingKey] { [] }
    var currentIndex: Int { Int(index) }

    /// The number of elements, which is counted at the first request.
    var count: Int? { reader.count(of: Int(lower)..<limit) }

    var isAtEnd: Bool { current >= upper }

    /// Moves behind the current element, which ends at `end`.
    private mutating func advance(to end: Int) {
        current = UInt32(clamping: end)
        index += 1
    }

    @inline(__always)
    private mutating func value<Value>(_ read: (CompactReader, inout Int, Int) throws -> Value) throws -> Value {
        var end = position
        do {
            let value = try read(reader, &end, limit)
            advance(to: end)
            return value
        } catch {
            throw error.inside(CompactKey(intValue: currentIndex))
        }
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        var end = position
        do {
            let value = try reader.decode(type, at: &end, limit: limit)
            advance(to: end)
            return value
        } catch {
            throw error.inside(CompactKey(intValue: currentIndex))
        }
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else {
            throw CompactReader.noElement(at: position)
        }
        guard reader.isNull(at: position) else {
            return false
        }
        advance(to: position + 1)
        return true
    }

    mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) throws -> KeyedDecodingContainer<NestedKey> {
        let container = try reader.keyed(by: type, at: position, limit: limit)
        advance(to: try reader.end(of: position, limit: limit))
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try reader.unkeyed(at: position, limit: limit)
        advance(to: try reader.end(of: position, limit: limit))
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try reader.decoder(at: position, limit: limit)
        advance(to: try reader.end(of: position, limit: limit))
        return decoder
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        try value { reader, position, limit in try reader.readBool(&position, limit) }
    }

    mutating func decode(_ type: String.Type) throws -> String {
        try value { reader, position, limit in try reader.readString(&position, limit) }
    }

    mutating func decode(_ type: Double.Type) throws -> Double {
        try value { reader, position, limit in try reader.readFloatingPoint(&position, limit) }
    }

    mutating func decode(_ type: Float.Type) throws -> Float {
        try value { reader, position, limit in try reader.readFloatingPoint(&position, limit) }
    }

    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: Int.Type) throws -> Int {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: Int8.Type) throws -> Int8 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: Int16.Type) throws -> Int16 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: Int32.Type) throws -> Int32 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: Int64.Type) throws -> Int64 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: UInt.Type) throws -> UInt {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }

    mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
        try value { reader, position, limit in try reader.readInteger(&position, limit) }
    }
}

/// Reads a value that is one other value.
struct CompactSingleValueDecodingContainer: SingleValueDecodingContainer {
    let reader: CompactReader
    let position: Int
    let limit: Int

    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool {
        reader.isNull(at: position)
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        var position = position
        return try reader.decode(type, at: &position, limit: limit)
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        var position = position
        return try reader.readBool(&position, limit)
    }

    func decode(_ type: String.Type) throws -> String {
        var position = position
        return try reader.readString(&position, limit)
    }

    func decode(_ type: Double.Type) throws -> Double {
        var position = position
        return try reader.readFloatingPoint(&position, limit)
    }

    func decode(_ type: Float.Type) throws -> Float {
        var position = position
        return try reader.readFloatingPoint(&position, limit)
    }

    func decode(_ type: Int128.Type) throws -> Int128 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: UInt128.Type) throws -> UInt128 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: Int.Type) throws -> Int {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: Int8.Type) throws -> Int8 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: Int16.Type) throws -> Int16 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: Int32.Type) throws -> Int32 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: Int64.Type) throws -> Int64 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: UInt.Type) throws -> UInt {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: UInt8.Type) throws -> UInt8 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: UInt16.Type) throws -> UInt16 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: UInt32.Type) throws -> UInt32 {
        var position = position
        return try reader.readInteger(&position, limit)
    }

    func decode(_ type: UInt64.Type) throws -> UInt64 {
        var position = position
        return try reader.readInteger(&position, limit)
    }
}
