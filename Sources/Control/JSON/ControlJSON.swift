import FoundationEssentials
public import WireProtocol

/// Conversions between JSON text, JSON values and Codable values.
public enum ControlJSON {
    /// Returns the JSON value that a Codable value encodes to.
    ///
    /// - Throws: `.failed` when the value can't be written as JSON; a number that isn't finite can't.
    public static func value(of value: some Encodable) throws(ControlError) -> JSONValue {
        try decode(JSONValue.self, from: try bytes(of: value))
    }

    /// Returns the Codable value that a JSON value decodes to.
    ///
    /// - Throws: `.failed` when the JSON value has another form; a daemon of another version may have sent it.
    public static func decode<Value: Decodable>(_ type: Value.Type, from json: JSONValue) throws(ControlError) -> Value {
        try decode(type, from: try bytes(of: json))
    }

    /// Reads JSON text of a person or another program.
    ///
    /// - Throws: `.invalidRequest` with the line and column of the first place that isn't JSON.
    public static func parse(_ bytes: [UInt8]) throws(ControlError) -> JSONValue {
        try parse(bytes, maximumDepth: JSONSyntax.maximumDepth)
    }

    /// Reads an answer of a daemon, which can be nested as deep as the daemon's tree.
    package static func parse(answer bytes: [UInt8]) throws(ControlError) -> JSONValue {
        try parse(bytes, maximumDepth: JSONSyntax.maximumAnswerDepth)
    }

    private static func parse(_ bytes: [UInt8], maximumDepth: Int) throws(ControlError) -> JSONValue {
        // Foundation's decoder doesn't report the position, and accepts a trailing comma.
        if let problem = JSONSyntax.firstProblem(in: bytes, maximumDepth: maximumDepth) {
            throw ControlError(.invalidRequest, "not valid JSON: line \(problem.line), column \(problem.column): \(problem.message)")
        }
        return try decode(JSONValue.self, from: bytes)
    }

    /// Returns a Codable value as JSON on one line, in UTF-8, with its keys sorted.
    ///
    /// - Throws: `.failed` when the value can't be written as JSON; a number that isn't finite can't.
    public static func bytes(of value: some Encodable) throws(ControlError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return [UInt8](try encoder.encode(value))
        } catch {
            throw ControlError(.failed, "the value can't be written as JSON: \(error)")
        }
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws(ControlError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw ControlError(.failed, "the JSON doesn't have the form of \(type): \(error)")
        }
    }
}
