import FoundationEssentials
public import WireProtocol

/// JSON text, JSON values and Codable values, made into each other.
public enum ControlJSON {
    /// The value that a Codable value encodes to, for a handler's results.
    ///
    /// - Throws: `.failed` when it can't be written as JSON; a number that isn't finite can't.
    public static func value(of value: some Encodable) throws(ControlError) -> JSONValue {
        try decode(JSONValue.self, from: try bytes(of: value))
    }

    /// The Codable value that a result stands for.
    ///
    /// - Throws: `.failed` when the result has another shape, which a daemon of another version may have sent.
    public static func decode<Value: Decodable>(_ type: Value.Type, from json: JSONValue) throws(ControlError) -> Value {
        try decode(type, from: try bytes(of: json))
    }

    /// Reads JSON that a person or another program wrote.
    ///
    /// - Throws: `.invalidRequest` with line and column of what isn't JSON.
    public static func parse(_ bytes: [UInt8]) throws(ControlError) -> JSONValue {
        try parse(bytes, maximumDepth: JSONSyntax.maximumDepth)
    }

    /// Reads an answer of a daemon, which may be as deep as its tree.
    static func parse(answer bytes: [UInt8]) throws(ControlError) -> JSONValue {
        try parse(bytes, maximumDepth: JSONSyntax.maximumAnswerDepth)
    }

    private static func parse(_ bytes: [UInt8], maximumDepth: Int) throws(ControlError) -> JSONValue {
        // Foundation's decoder doesn't say where, and takes a comma too many.
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
