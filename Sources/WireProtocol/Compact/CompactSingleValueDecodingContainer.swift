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
