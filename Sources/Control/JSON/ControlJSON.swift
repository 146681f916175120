import FoundationEssentials
public import WireProtocol

/// Conversions between JSON text, JSON values and Codable values.
public enum ControlJSON {
    /// Returns the JSON value that a Codable value encodes to.
    ///
    /// - Throws: `.failed` when the value can't be written as JSON; a number that isn't finite can't.
    public static func value(of value: some Encodable) throws(ControlError) -> JSONValue {
        let bytes = try bytes(of: value)
        do throws(JSONSyntax.Problem) {
            return try JSONSyntax.value(of: bytes, maximumDepth: JSONSyntax.maximumAnswerDepth)
        } catch {
            throw ControlError(.failed, "the value can't be written as JSON: \(error.message)")
        }
    }

    /// Returns the Codable value that a JSON value decodes to.
    ///
    /// - Throws: `.failed` when the JSON value has another form; a daemon of another version may have sent it.
    public static func decode<Value: Decodable>(_ type: Value.Type, from json: JSONValue) throws(ControlError) -> Value {
        let bytes = try bytes(of: json)
        do {
            let decoder = JSONDecoder()
            decoder.userInfo[.jsonSource] = json
            return try decoder.decode(type, from: Data(bytes))
        } catch {
            throw ControlError(.failed, "the JSON doesn't have the form of \(type): \(error)")
        }
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
        do throws(JSONSyntax.Problem) {
            return try JSONSyntax.value(of: bytes, maximumDepth: maximumDepth)
        } catch {
            throw ControlError(.invalidRequest, "not valid JSON: line \(error.line), column \(error.column): \(error.message)")
        }
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

    /// Returns a JSON value as `bytes(of:)` does, without Foundation.
    ///
    /// - Throws: `.failed` for a number that isn't finite.
    public static func bytes(of json: JSONValue) throws(ControlError) -> [UInt8] {
        var writer = JSONWriter()
        do throws(JSONWriter.NotFinite) {
            try writer.write(json)
            return writer.bytes
        } catch {
            throw ControlError(.failed, "the value can't be written as JSON: \(error.number) isn't finite")
        }
    }
}
