/// A JSON value as its text, which is read only by those who want to know what it says.
package struct JSONText: Sendable, Hashable, Decodable, CustomStringConvertible {
    /// The text, one value in UTF-8.
    package let bytes: [UInt8]

    /// - Parameter text: One JSON value in UTF-8.
    package init(_ text: some Collection<UInt8>) { bytes = Array(text) }

    package init(_ value: JSONValue) { bytes = JSONWriter.text(of: value) }

    package init(from decoder: any Decoder) throws { self.init(try JSONValue(from: decoder)) }

    /// The value; a text that isn't one as a string.
    package var value: JSONValue {
        (try? JSONSyntax.value(of: bytes, maximumDepth: JSONSyntax.maximumAnswerDepth)) ?? .string(description)
    }

    package var description: String { String(decoding: bytes, as: UTF8.self) }
}
