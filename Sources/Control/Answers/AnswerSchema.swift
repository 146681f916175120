package import WireProtocol

/// The JSON schemas of answers: a type is read from a decoder that has no values, and takes note of what the type asks for.
///
/// What is asked for by `decodeIfPresent` may be left out, the raw values of an enumeration that lists its cases are the only ones, and a
/// type that holds itself refers to the whole. So a schema is as true as the decoding that the compiler writes.
package struct AnswerSchema {
    /// The schema.
    package let json: JSONValue

    /// Finds the schema of a type.
    ///
    /// - Parameters:
    ///   - reference: The reference to the whole, by which the type is meant inside itself.
    ///   - note: Returns what is to be said of a member of a type, such as its description; nil says nothing.
    package init<Answer: Decodable>(
        of answer: Answer.Type,
        reference: String = "#",
        note: @escaping (_ type: String, _ member: String) -> [String: JSONValue]? = { _, _ in nil }
    ) throws {
        let recorder = Recorder(root: answer, reference: reference, note: note)
        json = try recorder.sample(of: answer).schema
    }
}

/// What is asked for.
private final class Recorder {
    let root: any Decodable.Type
    let reference: String
    let note: (String, String) -> [String: JSONValue]?

    init(root: any Decodable.Type, reference: String, note: @escaping (String, String) -> [String: JSONValue]?) {
        (self.root, self.reference, self.note) = (root, reference, note)
    }

    /// Returns a value of a type, and the schema that the type has.
    func sample<Value: Decodable>(of type: Value.Type, isInside: Bool = false) throws -> (value: Value?, schema: JSONValue) {
        if let type = type as? any Schematic.Type {
            let (value, schema) = try type.sample(self)
            return (value as? Value, schema)
        }
        if isInside, type == root { return (nil, ["$ref": .string(reference)]) }
        if let cases = (type as? any CaseIterable.Type)?.rawValues { return (cases.first?.0 as? Value, ["enum": .array(cases.map(\.1))]) }
        let object = SchemaDecoder(self, String(reflecting: type))
        let value = try Value(from: object)
        return (value, object.schema)
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
