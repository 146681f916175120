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
