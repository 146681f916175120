import WireProtocol

extension TraceContext {
    /// The fields of a W3C `traceparent`.
    struct Fields: Equatable {
        var trace: TraceIdentifier
        var span: UInt64
        /// Whether the trace is recorded.
        var isSampled: Bool
    }

    /// The number of characters of a `traceparent` of version 00.
    private static let length = 55

    /// The fields of the text, if it begins with a `traceparent`; a tracer may have put lines of its own behind it.
    ///
    /// https://www.w3.org/TR/trace-context/#traceparent-header-field-values
    var fields: Fields? {
        var text = traceparent
        // Unsafe: the text lives as long as the closure takes; each message is read, and a string's own views are many times as slow.
        return text.withUTF8 { Self.fields(of: $0) }
    }

    private static func fields(of text: UnsafeBufferPointer<UInt8>) -> Fields? {
        let hyphen = UInt8(ascii: "-")
        guard text.count >= length, text[2] == hyphen, text[35] == hyphen, text[52] == hyphen,
            let version = hexadecimal(text[0..<2]), version != 0xFF,
            let high = hexadecimal(text[3..<19]), let low = hexadecimal(text[19..<35]), high | low != 0,
            let span = hexadecimal(text[36..<52]), span != 0,
            let flags = hexadecimal(text[53..<55])
        else { return nil }
        // Version 00 ends here; what a later one adds follows a hyphen.
        if text.count > length {
            let next = text[length]
            if next != UInt8(ascii: "\n"), version == 0 || next != hyphen { return nil }
        }
        return Fields(trace: TraceIdentifier(high: high, low: low), span: span, isSampled: flags & 1 == 1)
    }

    /// Returns the number that digits stand for; `nil` when one is no digit, or a capital letter.
    private static func hexadecimal(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            let (decimal, letter) = (digit &- UInt8(ascii: "0"), digit &- UInt8(ascii: "a"))
            if decimal < 10 {
                value = value << 4 | UInt64(decimal)
            } else if letter < 6 {
                value = value << 4 | UInt64(letter + 10)
            } else {
                return nil
            }
        }
        return value
    }

    /// Creates the text of fields, with the lines that follow those of another.
    init(_ fields: Fields, after former: TraceContext?) {
        let rest = former.map { Substring($0.traceparent.utf8.drop { $0 != UInt8(ascii: "\n") }) } ?? ""
        let (trace, span) = ("\(Self.hexadecimal(fields.trace.high))\(Self.hexadecimal(fields.trace.low))", Self.hexadecimal(fields.span))
        self.init(traceparent: "00-\(trace)-\(span)-\(fields.isSampled ? "01" : "00")\(rest)")
    }

    /// The sixteen digits of a number.
    private static func hexadecimal(_ value: UInt64) -> String {
        String(unsafeUninitializedCapacity: 16) { digits in
            // Unsafe: the closure fills all sixteen bytes that it has asked for.
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * index)) & 0xF
                digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 16
        }
    }
}
