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
        let text = traceparent.utf8
        guard text.count >= Self.length else { return nil }
        var bytes = text.makeIterator()
        func hexadecimal(_ count: Int) -> UInt64? {
            var value: UInt64 = 0
            for _ in 0..<count {
                switch bytes.next() {
                case let digit? where UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit: value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
                case let digit? where UInt8(ascii: "a")...UInt8(ascii: "f") ~= digit:
                    value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
                default: return nil
                }
            }
            return value
        }
        let hyphen = UInt8(ascii: "-")
        guard let version = hexadecimal(2), version != 0xFF, bytes.next() == hyphen,
            let high = hexadecimal(16), let low = hexadecimal(16), high | low != 0, bytes.next() == hyphen,
            let span = hexadecimal(16), span != 0, bytes.next() == hyphen,
            let flags = hexadecimal(2)
        else { return nil }
        // Version 00 ends here; what a later one adds follows a hyphen.
        if let next = bytes.next(), next != UInt8(ascii: "\n"), version == 0 || next != hyphen { return nil }
        return Fields(trace: TraceIdentifier(high: high, low: low), span: span, isSampled: flags & 1 == 1)
    }

    /// Creates the text of fields, with the lines that follow those of another.
    init(_ fields: Fields, after former: TraceContext?) {
        let rest = former.map { $0.traceparent.drop { $0 != "\n" } } ?? ""
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
