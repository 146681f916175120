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
