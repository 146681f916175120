extension CompactReader {
    /// Returns the end of the value at a position, which is never beyond the limit.
    func end(of position: Int, limit: Int) throws -> Int {
        guard position < limit else {
            throw Self.corrupted("a value is missing", at: position)
        }
        let tag = bytes[position]
        var cursor = position + 1
        let size: Int
        switch tag {
        case CompactTag.zero..., CompactTag.null, CompactTag.false, CompactTag.true:
            size = 0
        case CompactTag.map, CompactTag.array:
            guard limit - cursor >= 4 else {
                throw Self.truncated(at: position)
            }
            size = 4 + Int(readUInt32(at: cursor))
        case CompactTag.text, CompactTag.bytes:
            guard let count = length(&cursor, limit) else {
                throw Self.truncated(at: position)
            }
            size = count
        case CompactTag.natural, CompactTag.negative:
            _ = try varint(&cursor, limit)
            size = 0
        case CompactTag.float: size = 4
        case CompactTag.double: size = 8
        case CompactTag.int128, CompactTag.uint128: size = 16
        default:
            throw Self.corrupted("found \(CompactTag.name(of: tag))", at: position)
        }
        guard size <= limit - cursor else {
            throw Self.truncated(at: position)
        }
        return cursor + size
    }

    /// Returns the range of the content of an array or a map.
    func range(of tag: UInt8, at position: Int, limit: Int, as type: Any.Type) throws -> Range<Int> {
        try expect(tag, at: position, limit: limit, as: type)
        let end = try end(of: position, limit: limit)
        return position + CompactLimits.containerHeaderSize..<end
    }

    @inline(__always)
    func isNull(at position: Int) -> Bool {
        position < bytes.endIndex && bytes[position] == CompactTag.null
    }

    @inline(__always)
    func readBool(_ position: inout Int, _ limit: Int) throws -> Bool {
        guard position < limit, bytes[position] == CompactTag.true || bytes[position] == CompactTag.false else {
            throw mismatch(Bool.self, at: position, limit: limit)
        }
        position += 1
        return bytes[position - 1] == CompactTag.true
    }

    @inline(__always)
    func readString(_ position: inout Int, _ limit: Int) throws -> String {
        try expect(CompactTag.text, at: position, limit: limit, as: String.self)
        position += 1
        return try readText(&position, limit)
    }

    /// Reads bytes without copying them.
    func readBytes(_ position: inout Int, _ limit: Int) throws -> Bytes {
        try expect(CompactTag.bytes, at: position, limit: limit, as: Bytes.self)
        var cursor = position + 1
        guard let count = length(&cursor, limit) else {
            throw Self.truncated(at: position)
        }
        position = cursor + count
        return bytes[cursor..<position]
    }

    /// Reads a number as floating point.
    ///
    /// Integers are accepted too, and rounded if necessary, as by `JSONDecoder`.
    func readFloatingPoint<Value: BinaryFloatingPoint>(_ position: inout Int, _ limit: Int) throws -> Value {
        let end = try end(of: position, limit: limit)
        let value: Value?
        switch bytes[position] {
        case CompactTag.double:
            let bits = UInt64(readUInt32(at: position + 1)) | UInt64(readUInt32(at: position + 5)) << 32
            let double = Double(bitPattern: bits)
            let converted = Value(double)
            // A finite value must not become infinite.
            value = converted.isInfinite && double.isFinite ? nil : converted
        case CompactTag.float:
            value = Value(Float(bitPattern: readUInt32(at: position + 1)))
        case CompactTag.uint128:
            value = Value(readUInt128(at: position + 1))
        case CompactTag.natural, CompactTag.negative, CompactTag.int128, CompactTag.zero...:
            var cursor = position
            value = Value(try readInteger(&cursor, limit) as Int128)
        default:
            value = nil
        }
        guard let value else {
            throw mismatch(Value.self, at: position, limit: limit)
        }
        position = end
        return value
    }

    /// Reads an integer, which has to fit.
    @inline(__always)
    func readInteger<Value: FixedWidthInteger>(_ position: inout Int, _ limit: Int) throws -> Value {
        if position < limit, bytes[position] >= CompactTag.zero {
            position += 1
            // 0 to 127 fit in every integer.
            return Value(truncatingIfNeeded: bytes[position - 1] & 0x7F)
        }
        return try readLongInteger(&position, limit)
    }

    private func readLongInteger<Value: FixedWidthInteger>(_ position: inout Int, _ limit: Int) throws -> Value {
        let end = try end(of: position, limit: limit)
        var cursor = position + 1
        let value: Value?
        switch bytes[position] {
        case CompactTag.natural:
            value = Value(exactly: try varint(&cursor, limit))
        case CompactTag.negative:
            value = Value(exactly: ~Int128(try varint(&cursor, limit)))
        case CompactTag.int128:
            value = Value(exactly: Int128(truncatingIfNeeded: readUInt128(at: cursor)))
        case CompactTag.uint128:
            value = Value(exactly: readUInt128(at: cursor))
        default:
            throw mismatch(Value.self, at: position, limit: limit)
        }
        guard let value else {
            throw Self.corrupted("an integer doesn't fit in \(Value.self)", at: position)
        }
        position = end
        return value
    }

    /// Reads a length and a text.
    @inline(__always)
    func readText(_ position: inout Int, _ limit: Int) throws -> String {
        guard let count = length(&position, limit) else {
            throw Self.truncated(at: position)
        }
        guard let text = String(checking: bytes[position..<position + count]) else {
            throw Self.corrupted("a text of \(count) bytes is not UTF-8", at: position)
        }
        position += count
        return text
    }

    /// Reads a length, which does not reach beyond the limit.
    @inline(__always)
    func length(_ position: inout Int, _ limit: Int) -> Int? {
        guard position < limit else { return nil }
        let byte = bytes[position]
        if byte < 0x80 {
            guard Int(byte) < limit - position else { return nil }
            position += 1
            return Int(byte)
        }
        var cursor = position
        guard let value = try? varint(&cursor, limit), value <= UInt64(limit - cursor) else { return nil }
        position = cursor
        return Int(value)
    }

    private func varint(_ position: inout Int, _ limit: Int) throws -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < limit, shift < 64 {
            let byte = bytes[position]
            position += 1
            // The tenth byte holds the last bit.
            guard shift < 63 || byte <= 1 else { break }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw Self.corrupted("an integer does not end", at: position)
    }

    @inline(__always)
    private func readUInt32(at position: Int) -> UInt32 {
        UInt32(bytes[position]) | UInt32(bytes[position + 1]) << 8 | UInt32(bytes[position + 2]) << 16 | UInt32(bytes[position + 3]) << 24
    }

    private func readUInt128(at position: Int) -> UInt128 {
        (0..<16).reduce(0) { $0 | UInt128(bytes[position + $1]) << UInt128($1 * 8) }
    }
}
