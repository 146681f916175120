/// The bytes that a writer has written so far.
///
/// It isn't an array, because each append to an array that is a property of a class checks whether the array is shared. That takes a third of the
/// time of encoding a small message.
struct CompactBuffer: ~Copyable {
    // Owned, uninitialised beyond `count`, freed by deinit; never handed out.
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        self.base = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        base.deallocate()
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    /// Appends an integer, little-endian.
    @inline(__always)
    mutating func appendInteger<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value) {
        reserve(MemoryLayout<Value>.size)
        base.storeBytes(of: value.littleEndian, toByteOffset: count, as: Value.self)
        count += MemoryLayout<Value>.size
    }

    /// Appends an unsigned LEB128 integer.
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
        // Swift's own strings are contiguous UTF-8, so the copy that makes them so is never made.
        var text = text
        text.withUTF8 { utf8 in
            appendVarint(UInt64(utf8.count))
            append(UnsafeRawBufferPointer(utf8))
        }
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// Inserts the bytes of another buffer.
    mutating func insert(_ other: borrowing CompactBuffer, at position: Int) {
        reserve(other.count)
        // Regions may overlap in the first move; `copyMemory` allows that.
        (base + position + other.count).copyMemory(from: base + position, byteCount: count - position)
        (base + position).copyMemory(from: other.base, byteCount: other.count)
        count += other.count
    }

    /// Overwrites four bytes with an integer, little-endian.
    mutating func patch(_ value: UInt32, at position: Int) {
        guard position + 4 <= count else { return }
        base.storeBytes(of: value.littleEndian, toByteOffset: position, as: UInt32.self)
    }

    /// Removes the bytes that were written since the buffer had this size.
    mutating func truncate(to count: Int) {
        self.count = min(self.count, count)
    }

    /// Calls a function with the bytes, which are valid until it returns.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(start: base, count: count))
    }

    @inline(__always)
    private mutating func reserve(_ additional: Int) {
        if additional > capacity - count {
            grow(by: additional)
        }
    }

    @inline(never)
    private mutating func grow(by additional: Int) {
        let larger = max(capacity * 2, count + additional)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 1)
        memory.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = memory
        capacity = larger
    }
}
