/// Reads one value, and the values inside it, from one buffer.
///
/// The reader is the `Decoder` of every value that it reads: it saves the state of the current value around the values inside that. The end of
/// each value is known, so that keys are found in any order, and a type may read less than the value contains.
final class CompactReader: Decoder {
    let bytes: Bytes
    @exclusivity(unchecked) private var start: Int
    @exclusivity(unchecked) private var limit: Int
    @exclusivity(unchecked) private(set) var depth: Int
    /// The position of the map that was read last, and the position at which its next entry is expected.
    @exclusivity(unchecked) private var expectedMap = -1
    @exclusivity(unchecked) private var expectedEntry = 0
    /// The map that was searched last for an entry in another place, the number of searches, and after several searches its values by name.
    @exclusivity(unchecked) private var index: (map: Int, searches: Int, values: [String: Int]?) = (-1, 0, nil)

    /// The first error in a place where none could be thrown.
    @exclusivity(unchecked) private(set) var fault: (any Error)?
    private let parent: CompactReader?

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ bytes: Bytes, at start: Int, limit: Int, depth: Int = 0, parent: CompactReader? = nil) {
        self.bytes = bytes
        self.parent = parent
        self.start = start
        self.limit = limit
        self.depth = depth
    }

    // MARK: Decoder

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try keyed(by: type, at: start, limit: limit)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try unkeyed(at: start, limit: limit)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        CompactSingleValueDecodingContainer(reader: self, position: start, limit: limit)
    }

    /// The tag of the current value, or `nil` where there is none.
    var tag: UInt8? {
        start < limit ? bytes[start] : nil
    }

    // MARK: Values

    /// Reads a value of any type and moves the position to its end.
    func decode<Value: Decodable>(_ type: Value.Type, at position: inout Int, limit: Int) throws -> Value {
        // The casts are between equal types, which the line above each has just established; `as!` would look them up at run time.
        if type == String.self {
            return unsafeBitCast(try readString(&position, limit), to: type)
        }
        if type == Int.self {
            return unsafeBitCast(try readInteger(&position, limit) as Int, to: type)
        }
        if type == Bool.self {
            return unsafeBitCast(try readBool(&position, limit), to: type)
        }
        if type == Double.self {
            return unsafeBitCast(try readFloatingPoint(&position, limit) as Double, to: type)
        }
        if type == UInt8.self {
            return unsafeBitCast(try readInteger(&position, limit) as UInt8, to: type)
        }
        switch position < limit ? bytes[position] : CompactTag.null {
        case CompactTag.bytes:
            if type == [UInt8].self {
                return unsafeBitCast(Array(try readBytes(&position, limit)), to: type)
            }
        case CompactTag.array:
            if type == [String].self {
                return unsafeBitCast(try readElements(&position, limit) { try readString(&$0, $1) }, to: type)
            }
            if type == [Int].self {
                return unsafeBitCast(try readElements(&position, limit) { try readInteger(&$0, $1) as Int }, to: type)
            }
            if type == [Double].self {
                return unsafeBitCast(try readElements(&position, limit) { try readFloatingPoint(&$0, $1) as Double }, to: type)
            }
        default:
            break
        }
        return try decodeByItself(type, at: &position, limit: limit)
    }

    /// Asks a type to decode itself from the value at a position.
    private func decodeByItself<Value: Decodable>(_ type: Value.Type, at position: inout Int, limit: Int) throws -> Value {
        guard depth < CompactLimits.depth else {
            throw Self.corrupted("values lie more than \(CompactLimits.depth) deep inside one another", at: position)
        }
        let end = try end(of: position, limit: limit)
        let outer = (start, self.limit)
        (start, self.limit) = (position, end)
        depth += 1
        defer {
            (start, self.limit) = outer
            depth -= 1
        }
        let value = try type.init(from: self)
        position = end
        return value
    }

    func keyed<Key: CodingKey>(by type: Key.Type, at position: Int, limit: Int) throws -> KeyedDecodingContainer<Key> {
        let range = try range(of: CompactTag.map, at: position, limit: limit, as: [String: Any].self)
        return KeyedDecodingContainer(CompactKeyedDecodingContainer<Key>(reader: self, range: range))
    }

    func unkeyed(at position: Int, limit: Int) throws -> any UnkeyedDecodingContainer {
        if position < limit, bytes[position] == CompactTag.bytes {
            return try elements(ofBytesAt: position, limit: limit)
        }
        let range = try range(of: CompactTag.array, at: position, limit: limit, as: [Any].self)
        return CompactUnkeyedDecodingContainer(reader: self, range: range)
    }

    /// Creates a decoder that its user may keep.
    func decoder(at position: Int, limit: Int) throws -> CompactReader {
        guard depth < CompactLimits.depth else {
            throw Self.corrupted("decoders lie more than \(CompactLimits.depth) deep inside one another", at: position)
        }
        return CompactReader(bytes, at: position, limit: try end(of: position, limit: limit), depth: depth + 1, parent: self)
    }

    // MARK: Maps

    /// Returns the position of a key's value.
    @inline(__always)
    func find(_ name: String, in map: Range<Int>) -> Int? {
        // Types nearly always read their keys in the order in which they wrote them, so that the entry is at the end of the last one.
        let entry = expectedMap == map.lowerBound ? expectedEntry : map.lowerBound
        if let value = match(name, at: entry, limit: map.upperBound) {
            return value
        }
        return search(name, in: map)
    }

    /// Stores the position at which the next entry of a map begins.
    @inline(__always)
    func expectNext(in map: Range<Int>, at position: Int) {
        expectedMap = map.lowerBound
        expectedEntry = position
    }

    /// Returns the keys of a map, in the order in which they were written.
    func names(in map: Range<Int>) -> [String] {
        var names: [String] = []
        forEachEntry(of: map) { name, _ in names.append(name) }
        return names
    }

    /// Returns the number of elements of an array.
    func count(of array: Range<Int>) -> Int {
        var count = 0
        var position = array.lowerBound
        do {
            while position < array.upperBound {
                position = try end(of: position, limit: array.upperBound)
                count += 1
            }
        } catch {
            keepError(error)
        }
        return count
    }

    /// Keeps an error until the decoder can throw it, when the value is complete.
    private func keepError(_ error: any Error) {
        if let parent {
            parent.keepError(error)
        } else if fault == nil {
            fault = error
        }
    }

    /// Calls a function with the name of each entry and the position of its value.
    private func forEachEntry(of map: Range<Int>, _ body: (String, Int) -> Void) {
        var position = map.lowerBound
        do {
            while position < map.upperBound {
                let name = try readText(&position, map.upperBound)
                body(name, position)
                position = try end(of: position, limit: map.upperBound)
            }
        } catch {
            keepError(error)
        }
    }

    /// Returns the position of the value if the entry at this position has this name.
    @inline(__always)
    private func match(_ name: String, at entry: Int, limit: Int) -> Int? {
        var position = entry
        guard position < limit, let count = length(&position, limit) else {
            return nil
        }
        var name = name
        let start = position
        // A pointer to the name, for the length of the call; Swift's own strings are contiguous UTF-8 already.
        let isEqual = name.withUTF8 { wanted in
            guard wanted.count == count else { return false }
            for offset in 0..<count where wanted[offset] != bytes[start + offset] {
                return false
            }
            return true
        }
        return isEqual ? position + count : nil
    }

    @inline(never)
    private func search(_ name: String, in map: Range<Int>) -> Int? {
        if index.map == map.lowerBound {
            index.searches += 1
        } else {
            index = (map: map.lowerBound, searches: 1, values: nil)
        }
        // Repeated searches of a large map would take quadratic time.
        if index.searches > 16, map.count > 512 {
            if index.values == nil {
                index.values = values(in: map)
            }
            return index.values?[name]
        }
        var position = map.lowerBound
        do {
            while position < map.upperBound {
                if let value = match(name, at: position, limit: map.upperBound) {
                    return value
                }
                guard let count = length(&position, map.upperBound) else {
                    throw Self.truncated(at: position)
                }
                position = try end(of: position + count, limit: map.upperBound)
            }
        } catch {
            keepError(error)
        }
        return nil
    }

    /// Returns the positions of a map's values by name; of equal names the first counts.
    private func values(in map: Range<Int>) -> [String: Int] {
        var values: [String: Int] = [:]
        forEachEntry(of: map) { name, position in
            if values[name] == nil {
                values[name] = position
            }
        }
        return values
    }
}
