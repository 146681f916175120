/// The byte that every compact value begins with.
///
/// Bytes from 0x80 on are the integers 0 to 127 themselves.
enum CompactTag {
    static let null: UInt8 = 0x00
    static let `false`: UInt8 = 0x01
    static let `true`: UInt8 = 0x02
    /// Unsigned LEB128 of the value.
    static let natural: UInt8 = 0x03
    /// Unsigned LEB128 of the value's complement: -1 is 0, -2 is 1.
    static let negative: UInt8 = 0x04
    /// Four bytes, IEEE 754.
    static let float: UInt8 = 0x05
    /// Eight bytes, IEEE 754.
    static let double: UInt8 = 0x06
    /// LEB128 length, UTF-8.
    static let text: UInt8 = 0x07
    /// LEB128 length, bytes.
    static let bytes: UInt8 = 0x08
    /// Four bytes of length, then the elements.
    static let array: UInt8 = 0x09
    /// Four bytes of length, then the entries: LEB128 length and UTF-8 of the key, and the value.
    static let map: UInt8 = 0x0A
    /// Sixteen bytes, two's complement; only for integers that the shorter forms can't hold.
    static let int128: UInt8 = 0x0B
    /// Sixteen bytes; only for integers that `int128` can't hold.
    static let uint128: UInt8 = 0x0C
    /// The integer 0; 1 to 127 follow.
    static let zero: UInt8 = 0x80

    /// Returns the name of a tag's type of value, for errors.
    static func name(of tag: UInt8) -> String {
        switch tag {
        case null: "null"
        case `false`, `true`: "a truth value"
        case natural, negative, int128, uint128, zero...: "an integer"
        case float, double: "a floating-point number"
        case text: "a text"
        case bytes: "bytes"
        case array: "an array"
        case map: "a map"
        default: "an unknown tag (\(tag))"
        }
    }
}

/// The limits of the compact format.
enum CompactLimits {
    /// The number of levels to which values may be nested, in either direction.
    static let depth = 256
    /// The size of the tag and the length that arrays and maps begin with, in bytes.
    static let containerHeaderSize = 5
}

/// The key of an element in an error's coding path, and of a super encoder that was asked for without one.
struct CompactKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        self.intValue = nil
    }

    init(intValue: Int) {
        self.stringValue = "\(intValue)"
        self.intValue = intValue
    }

    static let `super` = CompactKey(stringValue: "super")
}

extension Error {
    /// Returns the error with a key inserted at the front of its coding path; an error without a path is returned unchanged.
    func inside(_ key: some CodingKey) -> any Error {
        switch self as any Error {
        case EncodingError.invalidValue(let value, let context):
            EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [key] + context.codingPath,
                    debugDescription: context.debugDescription,
                    underlyingError: context.underlyingError
                )
            )
        case DecodingError.typeMismatch(let type, let context):
            DecodingError.typeMismatch(type, context.inside(key))
        case DecodingError.valueNotFound(let type, let context):
            DecodingError.valueNotFound(type, context.inside(key))
        case DecodingError.keyNotFound(let missing, let context):
            DecodingError.keyNotFound(missing, context.inside(key))
        case DecodingError.dataCorrupted(let context):
            DecodingError.dataCorrupted(context.inside(key))
        default:
            self
        }
    }
}

extension DecodingError.Context {
    fileprivate func inside(_ key: some CodingKey) -> Self {
        Self(codingPath: [key] + codingPath, debugDescription: debugDescription, underlyingError: underlyingError)
    }
}
