package import WireProtocol

/// The JSON schemas of answers: a type is read from a decoder that has no values, and takes note of what the type asks for.
///
/// What is asked for by `decodeIfPresent` may be left out, the raw values of an enumeration that lists its cases are the only ones, and a
/// type that has a schema of its own is referred to. So a schema is as true as the decoding that the compiler writes.
package struct AnswerSchema {
    /// The schema.
    package let json: JSONValue

    /// Finds the schema of a type.
    ///
    /// - Parameters:
    ///   - reference: Returns the reference to the schema of a type that has one of its own, by which the type is meant inside others and
    ///     itself.
    ///   - note: Returns what is to be said of a member of a type, such as its description; nil says nothing.
    package init<Answer: Decodable>(
        of answer: Answer.Type,
        reference: @escaping (_ type: any Decodable.Type) -> String?,
        note: @escaping (_ type: String, _ member: String) -> [String: JSONValue]? = { _, _ in nil }
    ) throws {
        let recorder = Recorder(reference: reference, note: note)
        var json = try recorder.sample(of: answer).schema
        if !recorder.definitions.isEmpty { json["$defs"] = .object(recorder.definitions) }
        self.json = json
    }

    /// Finds the schemas of files.
    ///
    /// A file whose type has an earlier file refers to that.
    ///
    /// - Parameter noting: Whether each member is noted with the type that it belongs to, for its documentation.
    package static func schemas(
        of files: KeyValuePairs<String, any Decodable.Type>,
        noting members: Bool = false
    ) throws -> [String: JSONValue] {
        let reference = { (type: any Decodable.Type) in files.first { $0.value == type }.map { "\($0.key).json" } }
        var schemas: [String: JSONValue] = [:]
        for (file, type) in files {
            let other = reference(type) ?? ""
            let note = { (type: String, member: String) -> [String: JSONValue]? in
                members ? ["member": .string("\(type).\(member)")] : nil
            }
            schemas[file] = other == "\(file).json" ? try Self(of: type, reference: reference, note: note).json : ["$ref": .string(other)]
        }
        return schemas
    }
}

/// An answer that is of one of two types.
package enum Either<First: Codable, Second: Codable>: Codable {
    case first(First)
    case second(Second)

    package init(from decoder: any Decoder) throws {
        do { self = .first(try First(from: decoder)) } catch { self = .second(try Second(from: decoder)) }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .first(let answer): try answer.encode(to: encoder)
        case .second(let answer): try answer.encode(to: encoder)
        }
    }
}

/// What is asked for.
private final class Recorder {
    let reference: (any Decodable.Type) -> String?
    let note: (String, String) -> [String: JSONValue]?
    /// The types that are being read: inside themselves they have no value that could be returned.
    private var outer: Set<ObjectIdentifier> = []
    /// The schemas of types that hold themselves and have none of their own.
    private(set) var definitions: [String: JSONValue] = [:]

    init(reference: @escaping (any Decodable.Type) -> String?, note: @escaping (String, String) -> [String: JSONValue]?) {
        (self.reference, self.note) = (reference, note)
    }

    /// Returns a value of a type, and the schema that the type has.
    func sample<Value: Decodable>(of type: Value.Type, isInside: Bool = false) throws -> (value: Value?, schema: JSONValue) {
        if let type = type as? any Schematic.Type {
            let (value, schema) = try type.sample(self)
            return (value as? Value, schema)
        }
        let (own, local) = (isInside ? reference(type) : nil, "#/$defs/\(type)")
        guard outer.insert(ObjectIdentifier(type)).inserted else {
            if own == nil { definitions["\(type)"] = [:] }
            return (nil, ["$ref": .string(own ?? local)])
        }
        defer { outer.remove(ObjectIdentifier(type)) }
        if let cases = (type as? any CaseIterable.Type)?.rawValues { return (cases.first?.0 as? Value, ["enum": .array(cases.map(\.1))]) }
        // What a generic type has is documented once for all.
        let object = SchemaDecoder(self, String(String(reflecting: type).prefix { $0 != "<" }))
        let value = try Value(from: object)
        if let own { return (value, ["$ref": .string(own)]) }
        guard definitions["\(type)"] != nil else { return (value, object.schema) }
        definitions["\(type)"] = object.schema
        return (value, ["$ref": .string(local)])
    }
}

extension CaseIterable {
    fileprivate static var rawValues: [(Any, JSONValue)]? {
        let cases = allCases.compactMap { each in
            ((each as? any RawRepresentable)?.rawValue as? String).map { (each as Any, JSONValue.string($0)) }
        }
        return cases.isEmpty ? nil : cases
    }
}

/// A type whose schema isn't found in how it's decoded.
private protocol Schematic {
    static func sample(_ recorder: Recorder) throws -> (Any, JSONValue)
}

extension Bool: Schematic {
    fileprivate static func sample(_ recorder: Recorder) -> (Any, JSONValue) { (false, ["type": "boolean"]) }
}

extension String: Schematic {
    fileprivate static func sample(_ recorder: Recorder) -> (Any, JSONValue) { ("", ["type": "string"]) }
}

extension Double: Schematic {
    fileprivate static func sample(_ recorder: Recorder) -> (Any, JSONValue) { (0.0, ["type": "number"]) }
}

extension JSONValue: Schematic {
    fileprivate static func sample(_ recorder: Recorder) -> (Any, JSONValue) { (JSONValue.null, [:]) }
}

extension FixedWidthInteger {
    fileprivate static func sample(_ recorder: Recorder) -> (Any, JSONValue) {
        (Self.zero, isSigned ? ["type": "integer"] : ["type": "integer", "minimum": 0])
    }
}

extension Int: Schematic {}
extension Int32: Schematic {}
extension Int64: Schematic {}
extension UInt32: Schematic {}
extension UInt64: Schematic {}

extension Array: Schematic where Element: Decodable {
    fileprivate static func sample(_ recorder: Recorder) throws -> (Any, JSONValue) {
        ([Element](), ["type": "array", "items": try recorder.sample(of: Element.self, isInside: true).schema])
    }
}

extension Dictionary: Schematic where Key == String, Value: Decodable {
    fileprivate static func sample(_ recorder: Recorder) throws -> (Any, JSONValue) {
        let values = try recorder.sample(of: Value.self, isInside: true).schema
        return ([String: Value](), ["type": "object", "additionalProperties": values])
    }
}

extension Either: Schematic {
    fileprivate static func sample(_ recorder: Recorder) throws -> (Any, JSONValue) {
        let (first, second) = (try recorder.sample(of: First.self, isInside: true), try recorder.sample(of: Second.self, isInside: true))
        return (first.value.map(Self.first) as Any, ["anyOf": [first.schema, second.schema]])
    }
}

/// A decoder of one object.
private final class SchemaDecoder: Decoder {
    struct NoValue: Error {}

    let recorder: Recorder
    let type: String
    var properties: [String: JSONValue] = [:]
    var optional: Set<String> = []
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    init(_ recorder: Recorder, _ type: String) { (self.recorder, self.type) = (recorder, type) }

    var schema: JSONValue {
        var schema: JSONValue = ["type": "object", "properties": .object(properties)]
        let required = properties.keys.filter { !optional.contains($0) }.sorted()
        if !required.isEmpty { schema["required"] = .array(required.map(JSONValue.string)) }
        return schema
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> { KeyedDecodingContainer(Members(decoder: self)) }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NoValue() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw NoValue() }

    struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: SchemaDecoder
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        /// `decodeIfPresent` asks this first.
        func contains(_ key: Key) -> Bool {
            decoder.optional.insert(key.stringValue)
            return true
        }
        func decodeNil(forKey key: Key) -> Bool { false }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            var (value, schema) = try decoder.recorder.sample(of: type, isInside: true)
            for (name, member) in decoder.recorder.note(decoder.type, key.stringValue) ?? [:] { schema[name] = member }
            decoder.properties[key.stringValue] = schema
            guard let value else { throw NoValue() }
            return value
        }
        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
            throw NoValue()
        }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw NoValue() }
        func superDecoder() throws -> any Decoder { throw NoValue() }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw NoValue() }
    }
}
