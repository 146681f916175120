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
