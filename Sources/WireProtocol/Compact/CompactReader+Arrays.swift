extension CompactReader {
    /// Reads an array without asking it to decode itself, which looks up types for every element.
    @inline(__always)
    func readElements<Element>(
        _ position: inout Int,
        _ limit: Int,
        _ read: (inout Int, Int) throws -> Element
    ) throws -> [Element] {
        let range = try range(of: CompactTag.array, at: position, limit: limit, as: [Element].self)
        var elements: [Element] = []
        var cursor = range.lowerBound
        while cursor < range.upperBound {
            do {
                elements.append(try read(&cursor, range.upperBound))
            } catch {
                throw error.inside(CompactKey(intValue: elements.count))
            }
        }
        position = cursor
        return elements
    }

    /// Lets bytes be read element by element.
    func elements(ofBytesAt position: Int, limit: Int) throws -> any UnkeyedDecodingContainer {
        var position = position
        var elements: [UInt8] = []
        for byte in try readBytes(&position, limit) {
            if byte < CompactTag.zero {
                elements.append(CompactTag.zero | byte)
            } else {
                elements += [CompactTag.natural, byte, 1]
            }
        }
        let reader = CompactReader(elements[...], at: 0, limit: elements.count, depth: depth)
        return CompactUnkeyedDecodingContainer(reader: reader, range: 0..<elements.count)
    }

    // MARK: Errors

    /// Throws unless a value begins with the tag.
    @inline(__always)
    func expect(_ tag: UInt8, at position: Int, limit: Int, as type: Any.Type) throws {
        guard position < limit, bytes[position] == tag else {
            throw mismatch(type, at: position, limit: limit)
        }
    }

    @inline(never)
    func mismatch(_ type: Any.Type, at position: Int, limit: Int) -> DecodingError {
        guard position < limit else {
            return .valueNotFound(type, Self.context("a value is missing", at: position))
        }
        let found = Self.context("found \(CompactTag.name(of: bytes[position]))", at: position)
        return bytes[position] == CompactTag.null ? .valueNotFound(type, found) : .typeMismatch(type, found)
    }

    @inline(never)
    static func missing(_ key: some CodingKey, at position: Int) -> DecodingError {
        .keyNotFound(key, context("no value for key \"\(key.stringValue)\"", at: position))
    }

    static func noElement(at position: Int) -> DecodingError {
        .valueNotFound(Any.self, context("the array has no more elements", at: position))
    }

    @inline(never)
    static func truncated(at position: Int) -> DecodingError {
        corrupted("a value reaches beyond what contains it", at: position)
    }

    @inline(never)
    static func corrupted(_ description: String, at position: Int) -> DecodingError {
        .dataCorrupted(context(description, at: position))
    }

    private static func context(_ description: String, at position: Int) -> DecodingError.Context {
        DecodingError.Context(codingPath: [], debugDescription: "\(description) (byte \(position))")
    }
}
