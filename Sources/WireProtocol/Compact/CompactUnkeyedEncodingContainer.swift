/// Writes the elements of an array.
struct CompactUnkeyedEncodingContainer: UnkeyedEncodingContainer {
    let writer: CompactWriter
    private(set) var count = 0

    var codingPath: [any CodingKey] { [] }

    init(writer: CompactWriter) {
        self.writer = writer
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        do {
            try writer.encode(value)
        } catch {
            throw error.inside(CompactKey(intValue: count))
        }
        count += 1
    }

    mutating func encodeNil() {
        writer.writeNull()
        count += 1
    }

    mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        count += 1
        return writer.child().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        count += 1
        return writer.child().unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        count += 1
        return writer.child()
    }

    mutating func encode(_ value: Bool) {
        writer.write(value)
        count += 1
    }

    mutating func encode(_ value: String) {
        writer.write(value)
        count += 1
    }

    mutating func encode(_ value: Double) {
        writer.write(value)
        count += 1
    }

    mutating func encode(_ value: Float) {
        writer.write(value)
        count += 1
    }

    mutating func encode(_ value: Int128) {
        writer.write(value)
        count += 1
    }

    mutating func encode(_ value: UInt128) {
        writer.write(value)
        count += 1
    }

    mutating func encode(_ value: Int) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: Int8) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: Int16) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: Int32) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: Int64) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: UInt) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: UInt8) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: UInt16) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: UInt32) {
        writer.writeInteger(value)
        count += 1
    }

    mutating func encode(_ value: UInt64) {
        writer.writeInteger(value)
        count += 1
    }
}
