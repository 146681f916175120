/// A writer of JSON, RFC 8259, for what is written often: a value in no time, and objects member by member.
package struct JSONWriter {
    /// What has been written.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// - Parameter capacity: The bytes for which there is room at once.
    package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    /// Returns the text of a value.
    package static func text(of value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(value)
        return writer.bytes
    }

    // MARK: Values

    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: write(word: "null")
        case .bool(let value): write(value)
        case .integer(let value): write(value)
        case .number(let value): write(value)
        case .string(let value): write(value)
        case .array(let values): array { writer in for value in values { writer.write(value) } }
        case .object(let members): object { writer in for (name, value) in members { writer.member(named: name) { $0.write(value) } } }
        }
    }

    package mutating func write(_ text: JSONText) {
        separate()
        bytes += text.bytes
        needsComma = true
    }

    package mutating func write(_ value: Bool) { write(word: value ? "true" : "false") }

    package mutating func write(_ value: Int) { write(Int64(value)) }

    package mutating func write(_ value: Int64) { write(digitsOf: value.magnitude, isNegative: value < 0) }

    package mutating func write(_ value: UInt64) { write(digitsOf: value, isNegative: false) }

    /// Writes a number; one that JSON doesn't have as the text that payloads have for it.
    package mutating func write(_ value: Double) {
        if value.isFinite { return write(word: "\(value)") }
        write(value.isNaN ? NonFinite.nan : value > 0 ? NonFinite.positiveInfinity : NonFinite.negativeInfinity)
    }

    package mutating func write(_ value: String) {
        separate()
        quote(value)
        needsComma = true
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) { enclose("[", "]", elements) }

    package mutating func object(_ members: (inout JSONWriter) -> Void) { enclose("{", "}", members) }

    /// Writes a member of an object.
    ///
    /// - Parameter name: What needs no escape.
    package mutating func member(_ name: StaticString, _ value: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes += $0 }
        bytes.append(UInt8(ascii: "\""))
        member(value)
    }

    /// Writes a member of an object.
    package mutating func member(named name: String, _ value: (inout JSONWriter) -> Void) {
        separate()
        quote(name)
        member(value)
    }

    private mutating func member(_ value: (inout JSONWriter) -> Void) {
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
        value(&self)
        needsComma = true
    }

    // MARK: -

    private mutating func separate() { if needsComma { bytes.append(UInt8(ascii: ",")) } }

    private mutating func write(word: String) {
        separate()
        bytes += word.utf8
        needsComma = true
    }

    /// Writes a number, last digit first, and turns that round: as a text, many digits would have memory of their own.
    private mutating func write(digitsOf magnitude: UInt64, isNegative: Bool) {
        separate()
        var first = bytes.count
        var rest = magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        if isNegative { bytes.append(UInt8(ascii: "-")) }
        var last = bytes.count - 1
        while first < last {
            bytes.swapAt(first, last)
            (first, last) = (first + 1, last - 1)
        }
        needsComma = true
    }

    private mutating func enclose(_ first: Unicode.Scalar, _ last: Unicode.Scalar, _ body: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: first))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: last))
        needsComma = true
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var written = 0
            for (index, byte) in utf8.enumerated() where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes += utf8[written..<index]
                written = index + 1
                if byte >= 0x20 {
                    bytes += [UInt8(ascii: "\\"), byte]
                } else {
                    bytes += "\\u00".utf8
                    bytes += [Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
                }
            }
            bytes += utf8[written...]
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

/// The texts for the values that JSON numbers don't have.
package enum NonFinite {
    package static let positiveInfinity = "Infinity"
    package static let negativeInfinity = "-Infinity"
    package static let nan = "NaN"
}
