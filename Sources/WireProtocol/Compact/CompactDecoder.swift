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
