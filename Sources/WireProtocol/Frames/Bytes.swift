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

/// Reads fields from a range of bytes, and never past its end.
struct ByteReader {
    let bytes: [UInt8]
    var position: Int
    let end: Int
    /// The size of the largest field that is copied, in bytes; larger ones share the memory of all.
    private let copyLimit: Int

    @inline(__always)
    init(_ bytes: [UInt8], from position: Int = 0, to end: Int, copyLimit: Int = 0) {
        self.bytes = bytes
        self.position = position
        self.end = end
        self.copyLimit = copyLimit
    }

    @inline(__always)
    var remaining: Int { end - position }

    /// Reads a fixed-size integer, little-endian.
    @inline(__always)
    mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type = Value.self) throws(WireError) -> Value {
        guard remaining >= MemoryLayout<Value>.size else {
            throw truncated(wanting: MemoryLayout<Value>.size)
        }
        // Any bit pattern is a valid integer; the span checks the bounds.
        let value = bytes.span.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: Value.self)
        position += MemoryLayout<Value>.size
        return Value(littleEndian: value)
    }

    /// Reads a byte that must be 0 or 1.
    mutating func flag(_ field: StaticString) throws(WireError) -> Bool {
        let byte = try integer(UInt8.self)
        guard byte <= 1 else {
            throw WireError(.malformed, "\(field) is \(byte), not 0 or 1", offset: position - 1)
        }
        return byte == 1
    }

    /// Reads an unsigned LEB128 length, which must not reach beyond the end, nor have more bytes than it needs: equal frames have equal bytes.
    @inline(__always)
    mutating func length() throws(WireError) -> Int {
        if position < end {
            let byte = bytes[position]
            if byte < 0x80, Int(byte) < remaining {
                position += 1
                return Int(byte)
            }
        }
        return try longLength()
    }

    private mutating func longLength() throws(WireError) -> Int {
        let start = position
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try integer(UInt8.self)
            // A length of more than 35 bits is invalid anyway, so that a sixth byte is a fault.
            guard shift < 35 else {
                throw WireError(.malformed, "a length has more than 5 bytes", offset: start)
            }
            value |= UInt64(byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 {
                guard byte != 0 || position == start + 1 else {
                    throw WireError(.malformed, "a length has more bytes than it needs", offset: start)
                }
                break
            }
        }
        guard value <= UInt64(remaining) else {
            throw WireError(.truncated, "a field of \(value) bytes has only \(remaining)", offset: start)
        }
        return Int(value)
    }

    /// Reads a length and as many bytes.
    @inline(__always)
    mutating func field() throws(WireError) -> Bytes { readBytes(try length()) }

    /// Takes all bytes that are left.
    @inline(__always)
    mutating func rest() -> Bytes { readBytes(remaining) }

    @inline(__always)
    private mutating func readBytes(_ count: Int) -> Bytes {
        // Even an empty slice would keep the memory of all bytes.
        if count == 0 { return [] }
        let taken = bytes[position..<position + count]
        position += count
        return count <= copyLimit ? Bytes(Array(taken)) : taken
    }

    /// Reads a length and a text of as many bytes.
    mutating func text(limit: Int = .max) throws(WireError) -> String {
        let start = position
        let count = try length()
        guard count <= limit else {
            throw WireError(.tooLarge, "a name of \(count) bytes is longer than \(limit)", offset: start)
        }
        guard let text = String(checking: bytes[position..<position + count]) else {
            throw WireError(.badText, "a text of \(count) bytes is not UTF-8", offset: position)
        }
        position += count
        return text
    }

    @inline(never)
    private func truncated(wanting count: Int) -> WireError {
        WireError(.truncated, "\(count) bytes are needed and \(remaining) are left", offset: position)
    }
}
