/// Bytes that were encoded elsewhere: a payload, a trace context, a configuration.
///
/// They are a slice so that a decoded payload can share the memory of the batch that it arrived in. Such a slice keeps the whole batch alive
/// and has the batch's indices; copy the bytes with `Array(bytes)` to keep them for long.
public typealias Bytes = ArraySlice<UInt8>

/// The number that stands for a name in one direction of one link.
///
/// 0 is the empty string. A ``DefineName`` frame introduces every other number before, or earlier in, the batch that first uses it.
public typealias NameID = UInt32

extension [UInt8] {
    /// Appends an integer, little-endian.
    @inline(__always)
    mutating func appendInteger(_ value: some FixedWidthInteger) {
        // A pointer to a local integer, for the length of the call.
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends an unsigned LEB128 integer: seven bits a byte, the lowest first; the eighth bit says that more bytes follow.
    @inline(__always)
    mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a length and the bytes of a text.
    @inline(__always)
    mutating func appendText(_ text: String) {
        let utf8 = text.utf8
        appendVarint(UInt64(utf8.count))
        append(contentsOf: utf8)
    }

    /// Appends a length and bytes.
    @inline(__always)
    mutating func appendField(_ bytes: Bytes) {
        appendVarint(UInt64(bytes.count))
        append(contentsOf: bytes)
    }

    /// Overwrites four bytes with an integer, little-endian.
    @inline(__always)
    mutating func patch(_ value: UInt32, at offset: Int) {
        // A pointer into the array, for the length of the call; the store checks its bounds.
        withUnsafeMutableBytes { $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt32.self) }
    }
}

extension String {
    /// Creates a text from UTF-8; `nil` when the bytes are not valid UTF-8.
    @inline(__always)
    init?(checking bytes: Bytes) {
        do {
            self.init(copying: try UTF8Span(validating: bytes.span))
        } catch {
            return nil
        }
    }
}
