extension CompactWriter {
    @inline(__always)
    func write(_ value: Bool) {
        buffer.append(value ? CompactTag.true : CompactTag.false)
    }

    func writeNull() {
        buffer.append(CompactTag.null)
    }

    func write(_ value: Double) {
        buffer.append(CompactTag.double)
        buffer.appendInteger(value.bitPattern)
    }

    func write(_ value: Float) {
        buffer.append(CompactTag.float)
        buffer.appendInteger(value.bitPattern)
    }

    @inline(__always)
    func write(_ value: String) {
        buffer.append(CompactTag.text)
        buffer.appendText(value)
    }

    func write(_ value: [UInt8]) {
        buffer.append(CompactTag.bytes)
        buffer.appendVarint(UInt64(value.count))
        // A pointer to the array, for the length of the call.
        value.withUnsafeBytes { buffer.append($0) }
    }

    /// Writes an integer of up to 64 bits.
    @inline(__always)
    func writeInteger(_ value: some FixedWidthInteger) {
        if value >= 0 {
            let magnitude = UInt64(truncatingIfNeeded: value)
            if magnitude < 0x80 {
                buffer.append(CompactTag.zero | UInt8(truncatingIfNeeded: magnitude))
            } else {
                buffer.append(CompactTag.natural)
                buffer.appendVarint(magnitude)
            }
        } else {
            buffer.append(CompactTag.negative)
            buffer.appendVarint(UInt64(truncatingIfNeeded: ~value))
        }
    }

    func write(_ value: Int128) {
        if let small = Int64(exactly: value) {
            writeInteger(small)
        } else if let small = UInt64(exactly: value) {
            writeInteger(small)
        } else {
            buffer.append(CompactTag.int128)
            buffer.appendInteger(value)
        }
    }

    func write(_ value: UInt128) {
        if let signed = Int128(exactly: value) {
            write(signed)
        } else {
            buffer.append(CompactTag.uint128)
            buffer.appendInteger(value)
        }
    }

    /// Writes a value of the types that generic code meets most often without asking the value to encode itself.
    @inline(__always)
    func encodeDirectly<Value: Encodable>(_ value: Value) -> Bool {
        // The casts are between equal types, which the line above each has just established; `as!` would look them up at run time.
        if Value.self == String.self {
            write(unsafeBitCast(value, to: String.self))
        } else if Value.self == [UInt8].self {
            write(unsafeBitCast(value, to: [UInt8].self))
        } else if Value.self == Int.self {
            writeInteger(unsafeBitCast(value, to: Int.self))
        } else if Value.self == Bool.self {
            write(unsafeBitCast(value, to: Bool.self))
        } else if Value.self == Double.self {
            write(unsafeBitCast(value, to: Double.self))
        } else if Value.self == UInt8.self {
            writeInteger(unsafeBitCast(value, to: UInt8.self))
        } else {
            return false
        }
        return true
    }
}
