/// Writes a value that is one other value.
struct CompactSingleValueEncodingContainer: SingleValueEncodingContainer {
    let writer: CompactWriter

    var codingPath: [any CodingKey] { [] }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try writer.beginScalar()
        try writer.encode(value)
    }

    mutating func encodeNil() throws {
        try writer.beginScalar()
        writer.writeNull()
    }

    mutating func encode(_ value: Bool) throws {
        try writer.beginScalar()
        writer.write(value)
    }

    mutating func encode(_ value: String) throws {
        try writer.beginScalar()
        writer.write(value)
    }

    mutating func encode(_ value: Double) throws {
        try writer.beginScalar()
        writer.write(value)
    }

    mutating func encode(_ value: Float) throws {
        try writer.beginScalar()
        writer.write(value)
    }

    mutating func encode(_ value: Int128) throws {
        try writer.beginScalar()
        writer.write(value)
    }

    mutating func encode(_ value: UInt128) throws {
        try writer.beginScalar()
        writer.write(value)
    }

    mutating func encode(_ value: Int) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: Int8) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: Int16) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: Int32) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: Int64) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt8) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt16) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt32) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt64) throws {
        try writer.beginScalar()
        writer.writeInteger(value)
    }
}
