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
