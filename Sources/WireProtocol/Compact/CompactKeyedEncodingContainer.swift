/// Writes the entries of a map.
///
/// An optional that is `nil` has no entry, unless `encodeNil` encodes it explicitly.
struct CompactKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: CompactWriter

    var codingPath: [any CodingKey] { [] }

    @inline(__always)
    private func name(_ key: some CodingKey) {
        writer.buffer.appendText(key.stringValue)
    }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        let before = writer.buffer.count
        name(key)
        do {
            try writer.encode(value)
        } catch {
            writer.buffer.truncate(to: before)
            throw error.inside(key)
        }
    }

    mutating func encodeNil(forKey key: Key) {
        name(key)
        writer.writeNull()
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        name(key)
        return writer.child().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        name(key)
        return writer.child().unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        name(CompactKey.super)
        return writer.child()
    }

    mutating func superEncoder(forKey key: Key) -> any Encoder {
        name(key)
        return writer.child()
    }

    mutating func encode(_ value: Bool, forKey key: Key) {
        name(key)
        writer.write(value)
    }

    mutating func encode(_ value: String, forKey key: Key) {
        name(key)
        writer.write(value)
    }

    mutating func encode(_ value: Double, forKey key: Key) {
        name(key)
        writer.write(value)
    }

    mutating func encode(_ value: Float, forKey key: Key) {
        name(key)
        writer.write(value)
    }

    mutating func encode(_ value: Int128, forKey key: Key) {
        name(key)
        writer.write(value)
    }

    mutating func encode(_ value: UInt128, forKey key: Key) {
        name(key)
        writer.write(value)
    }

    mutating func encode(_ value: Int, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: Int8, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: Int16, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: Int32, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: Int64, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt8, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt16, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt32, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }

    mutating func encode(_ value: UInt64, forKey key: Key) {
        name(key)
        writer.writeInteger(value)
    }
}
