/// A JSON text as a value, for configurations and payloads whose type the process doesn't know.
///
/// Every `Decoder` can create such a value, for example `JSONDecoder` or a YAML decoder.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction that 64 bits hold.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    /// A text.
    case string(String)
    /// A list of values.
    case array([JSONValue])
    /// Values by name, in no order.
    case object([String: JSONValue])
}

extension JSONValue: ExpressibleByNilLiteral {
    /// Creates `null`.
    public init(nilLiteral: ()) {
        self = .null
    }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    /// Creates a truth value.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    /// Creates an integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }
}

extension JSONValue: ExpressibleByFloatLiteral {
    /// Creates a number.
    public init(floatLiteral value: Double) {
        self = .number(value)
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// Creates a text.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}

extension JSONValue: ExpressibleByArrayLiteral {
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// Creates an object; of two members with one name the last counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

extension JSONValue {
    /// The value of a member of an object; `nil` when there is no such member or the value is no object.
    ///
    /// Setting `nil` removes the member. Setting a member of a value that is no object replaces that value by an object.
    public subscript(name: String) -> JSONValue? {
        get {
            guard case .object(let members) = self else { return nil }
            return members[name]
        }
        set {
            var members = objectValue ?? [:]
            members[name] = newValue
            self = .object(members)
        }
    }

    /// The element of an array; `nil` when there is no such element or the value is no array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether the value is `null`.
    public var isNull: Bool { self == .null }

    /// The truth value, if the value is one.
    public var boolValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The integer, if the value is one.
    public var integerValue: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// The number, if the value is a number or an integer; an integer beyond 2^53 is rounded.
    public var numberValue: Double? {
        switch self {
        case .number(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }

    /// The text, if the value is one.
    public var stringValue: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The elements, if the value is an array.
    public var arrayValue: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members, if the value is an object.
    public var objectValue: [String: JSONValue]? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// Returns this value merged with another, which takes precedence.
    ///
    /// Objects are merged recursively, member by member; all other values are replaced, arrays and `null` included.
    public func overlaid(by other: JSONValue) -> JSONValue {
        guard case .object(let members) = self, case .object(let others) = other else {
            return other
        }
        return .object(members.merging(others) { $0.overlaid(by: $1) })
    }

    /// Returns this value merged with another, where some objects stand for the cases of an enumeration as Swift encodes them.
    ///
    /// An object with a single member isn't merged with an object whose single member has another name.
    public func overlaid(byCasesOf other: JSONValue) -> JSONValue {
        guard case .object(let members) = self, case .object(let others) = other else {
            return other
        }
        if members.count == 1, others.count == 1, members.keys != others.keys { return other }
        return .object(members.merging(others) { $0.overlaid(byCasesOf: $1) })
    }
}

extension JSONValue {
    /// The bytes that the value has in memory, about: many times those of its text when it's an array of digits.
    package var bytesInMemory: Int {
        let own = MemoryLayout<JSONValue>.stride
        return switch self {
        case .array(let values): values.reduce(own) { $0 + $1.bytesInMemory }
        case .object(let members): members.reduce(own) { $0 + 2 * own + $1.key.utf8.count + $1.value.bytesInMemory }
        case .string(let text): own + text.utf8.count
        default: own
        }
    }
}

extension JSONValue: Codable {
    /// Decodes null, a truth value, an integer, a number, a text, an array or an object; the first that succeeds, in this order.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let reader = decoder as? CompactReader {
            self = try Self.value(from: container, tag: reader.tag)
        } else if let source = decoder.userInfo[.jsonSource] as? any JSONSource {
            self = try source.value(at: decoder.codingPath)
        } else if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            // The error of the last attempt is thrown.
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// Decodes a compact value, whose tag says which type it has.
    private static func value(from container: any SingleValueDecodingContainer, tag: UInt8?) throws -> JSONValue {
        switch tag {
        case CompactTag.null: .null
        case CompactTag.true, CompactTag.false: .bool(try container.decode(Bool.self))
        case CompactTag.float, CompactTag.double: .number(try container.decode(Double.self))
        case CompactTag.text: .string(try container.decode(String.self))
        case CompactTag.array, CompactTag.bytes: .array(try container.decode([JSONValue].self))
        case CompactTag.map: .object(try container.decode([String: JSONValue].self))
        default:
            if let value = try? container.decode(Int64.self) {
                .integer(value)
            } else {
                .number(try container.decode(Double.self))
            }
        }
    }
}

/// What a decoder decodes, as a value.
///
/// Foundation's decoder tells no type, so that one after the other is tried, and each that fails costs as much as the value is deep. With this in its
/// `userInfo`, a value of any form is taken from here, whole.
package protocol JSONSource: Sendable {
    /// The value of the whole text.
    var whole: JSONValue { get throws }
}

extension JSONSource {
    /// Returns the value at a path of keys and indices.
    func value(at path: [any CodingKey]) throws -> JSONValue {
        var value = try whole
        for key in path {
            let part = if case .array = value { key.intValue.flatMap { value[$0] } } else { value[key.stringValue] }
            guard let part else {
                throw DecodingError.keyNotFound(key, DecodingError.Context(codingPath: path, debugDescription: "there is no such value"))
            }
            value = part
        }
        return value
    }
}

extension CodingUserInfoKey {
    /// The key of a ``JSONSource``.
    package static let jsonSource = CodingUserInfoKey(rawValue: "coordinators.json")!
}

/// A value that is the source itself.
extension JSONValue: JSONSource {
    package var whole: JSONValue { self }
}
