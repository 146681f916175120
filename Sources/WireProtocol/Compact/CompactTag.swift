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
    /// Sixteen bytes, two's complement; only for what the shorter forms can't hold.
    static let int128: UInt8 = 0x0B
    /// Sixteen bytes; only for what `int128` can't hold.
    static let uint128: UInt8 = 0x0C
    /// The integer 0; 1 to 127 follow.
    static let zero: UInt8 = 0x80

    /// Says what a tag stands for, in errors.
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
    /// How many values may lie inside one another, in either direction.
    static let depth = 256
    /// The tag and the four bytes of length that arrays and maps begin with.
    static let containerHeaderSize = 5
}
