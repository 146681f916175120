/// Writes one value, and the values inside it, to one buffer.
///
/// The writer is the `Encoder` of every value that it writes: it saves the state of the current value around the values inside that. A
/// container that the user may hold on to (a nested one, a super encoder) gets a writer of its own, whose bytes are inserted when the value is
/// complete, so that containers may be filled in any order.
final class CompactWriter: Encoder {
    /// The shape of the current value so far.
    enum Shape {
        case nothing
        case scalar
        case array
        case map
    }

    /// The current value.
    private struct Scope {
        var shape = Shape.nothing
        /// The position at which its bytes begin.
        var start: Int
        /// The index of its first child.
        var firstChild = 0
    }

    // No access to these properties lasts longer than one line that calls no other code, so checking them for overlap at run time can't
    // find any.
    @exclusivity(unchecked) var buffer: CompactBuffer
    @exclusivity(unchecked) private var scope = Scope(start: 0)
    @exclusivity(unchecked) private var depth: Int
    @exclusivity(unchecked) private var children: [(position: Int, writer: CompactWriter)] = []
    @exclusivity(unchecked) private var failure: (any Error)?

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(depth: Int = 0) {
        self.buffer = CompactBuffer(capacity: depth == 0 ? 256 : 64)
        self.depth = depth
    }

    // MARK: Encoder

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        open(.map, tag: CompactTag.map)
        return KeyedEncodingContainer(CompactKeyedEncodingContainer<Key>(writer: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        open(.array, tag: CompactTag.array)
        return CompactUnkeyedEncodingContainer(writer: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        CompactSingleValueEncodingContainer(writer: self)
    }

    // MARK: Values

    /// Writes a value of any type, or throws and leaves the buffer as it was.
    func encode<Value: Encodable>(_ value: Value) throws {
        if encodeDirectly(value) { return }
        guard depth < CompactLimits.depth else {
            throw Self.tooDeep
        }
        let outer = scope
        scope = Scope(start: buffer.count, firstChild: children.count)
        depth += 1
        defer {
            scope = outer
            depth -= 1
        }
        do {
            try value.encode(to: self)
            try finish()
        } catch {
            buffer.truncate(to: scope.start)
            children.removeSubrange(min(scope.firstChild, children.count)...)
            failure = nil
            throw error
        }
    }

    /// Begins the one value of a single value container.
    func beginScalar() throws {
        guard scope.shape == .nothing else {
            throw Self.mixed
        }
        scope.shape = .scalar
    }

    /// Creates the writer of a container at the current position.
    func child() -> CompactWriter {
        // Creating a container can't throw, so a chain of containers that is too deep fails when its value is complete.
        guard depth < CompactLimits.depth else {
            failure = Self.tooDeep
            return CompactWriter()
        }
        let child = CompactWriter(depth: depth + 1)
        children.append((buffer.count, child))
        return child
    }

    private func open(_ container: Shape, tag: UInt8) {
        if scope.shape == .nothing {
            scope.shape = container
            // The length is patched when the value is complete.
            buffer.append(tag)
            buffer.appendInteger(UInt32(0))
        } else if scope.shape != container {
            failure = Self.mixed
        }
    }

    /// Completes the current value: inserts the bytes of its containers and patches its length.
    private func finish() throws {
        if let failure {
            throw failure
        }
        if children.count > scope.firstChild {
            // From the last to the first, so that the positions hold.
            while children.count > scope.firstChild, let (position, writer) = children.popLast() {
                try writer.finish()
                buffer.insert(writer.buffer, at: min(position, buffer.count))
            }
        }
        switch scope.shape {
        case .scalar:
            break
        case .nothing:
            open(.map, tag: CompactTag.map)
        case .array, .map:
            let length = buffer.count - scope.start - CompactLimits.containerHeaderSize
            guard let length = UInt32(exactly: length) else {
                throw Self.error("a container of \(length) bytes is too large")
            }
            buffer.patch(length, at: scope.start + 1)
        }
    }

    // MARK: Errors

    static var tooDeep: EncodingError {
        error("values lie more than \(CompactLimits.depth) deep inside one another")
    }

    static var mixed: EncodingError {
        error("a value was encoded as more than one thing: keyed, unkeyed, single")
    }

    static func error(_ description: String) -> EncodingError {
        EncodingError.invalidValue(Void.self, EncodingError.Context(codingPath: [], debugDescription: description))
    }
}

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
