/// A JSON value as its text, which is read only by those who want to know what it says.
package struct JSONText: Sendable, Hashable, Decodable, CustomStringConvertible {
    /// The text, one value in UTF-8.
    package let bytes: [UInt8]

    /// - Parameter bytes: One JSON value in UTF-8.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ value: JSONValue) { bytes = JSONWriter.text(of: value) }

    package init(from decoder: any Decoder) throws { self.init(try JSONValue(from: decoder)) }

    /// The value; a text that isn't one as a string.
    package var value: JSONValue {
        (try? JSONSyntax.value(of: bytes, maximumDepth: JSONSyntax.maximumAnswerDepth)) ?? .string(description)
    }

    /// The nesting within a record, whose readers follow a few levels less.
    private static let maximumDepth = JSONSyntax.maximumAnswerDepth - 8

    /// What would not be read as it's written; `nil`: nothing.
    package var obstacle: String? {
        var (depth, deepest) = (0, 0)
        var isText = false
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "\""): isText.toggle()
            case _ where isText: break
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                let start = index
                while index + 1 < bytes.count, Self.isOfNumber(bytes[index + 1]) { index += 1 }
                let number = bytes[start...index]
                if number.count > Self.exactDigits, Self.isRounded(number) {
                    return "the number \(String(decoding: number, as: UTF8.self)), which would be rounded: give it as a text"
                }
            default: break
            }
            index += 1
        }
        return deepest > Self.maximumDepth ? "\(deepest) levels, and readers follow \(Self.maximumDepth)" : nil
    }

    /// The digits that every number may have.
    private static let exactDigits = 15

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || ".eE+-".utf8.contains(byte)
    }

    /// Whether a number is none of 64 bits with a sign, and isn't what the nearest `Double` is written as.
    private static func isRounded(_ number: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: number, as: UTF8.self)
        if Int64(text) != nil { return false }
        guard let value = Double(text) else { return true }
        let digits = { (text: String) in
            text.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber).drop { $0 == "0" }.reversed().drop { $0 == "0" }.map { $0 }
        }
        return digits(text) != digits("\(value)")
    }

    package var description: String { String(decoding: bytes, as: UTF8.self) }
}
