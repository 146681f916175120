/// Encodes Codable values as compact bytes, for a peer of the same build.
///
/// The format describes itself: keys are written by name and every value begins with a tag, so this pair carries
/// everything that `JSONEncoder` and `JSONDecoder` carry (keys that are missing, in another order, or read twice; enumerations with payloads; subclasses), and every `Double`,
/// infinities and NaN included. An optional that is `nil` takes no space.
///
/// Not carried: `userInfo` and `codingPath` are empty, and an `Encoder` must not be used after the value that it was given to has encoded itself,
/// unless it is a super encoder.
public struct CompactEncoder: Sendable {
    /// Creates an encoder, which has no state.
    public init() {}

    /// Returns a value as bytes.
    ///
    /// - Throws: `EncodingError` when values are nested more than 256 levels deep or a value encodes itself in contradictory ways, and
    ///   the errors of the value's own `encode(to:)`.
    public func encode(_ value: some Encodable) throws -> [UInt8] {
        let writer = CompactWriter()
        try writer.encode(value)
        return writer.buffer.withBytes { Array($0) }
    }

    /// Appends a value's bytes to a buffer; after an error the buffer is unchanged.
    public func encode(_ value: some Encodable, into buffer: inout [UInt8]) throws {
        let writer = CompactWriter()
        try writer.encode(value)
        writer.buffer.withBytes { buffer.append(contentsOf: $0) }
    }
}

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
