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
