public import WireProtocol

extension ControlJSON {
    /// Returns a Codable value as JSON on one line, with its keys sorted; nothing in it moves a terminal's cursor.
    ///
    /// - Throws: `.failed` when the value can't be written as JSON.
    public static func text(of value: some Encodable) throws(ControlError) -> String { text(of: try bytes(of: value)) }

    /// Returns a JSON value as `text(of:)` does.
    ///
    /// - Throws: `.failed` for a number that isn't finite.
    public static func text(of json: JSONValue) throws(ControlError) -> String { text(of: try bytes(of: json)) }

    private static func text(of bytes: [UInt8]) -> String {
        PrintableText.line(String(decoding: bytes, as: UTF8.self)) { scalar in
            // JSON's only escapes for these characters name UTF-16 code units.
            String(scalar).utf16.map { "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count) + String($0, radix: 16) }
                .joined()
        }
    }
}
