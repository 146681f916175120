/// The value of a plain (unquoted) scalar by YAML 1.2's core schema.
///
/// https://yaml.org/spec/1.2.2/#103-core-schema
///
/// Unlike in YAML 1.1, `yes`, `no`, `on` and `off` are texts, and so are `1_000` and `12:30`.
enum PlainScalar: Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number with a fraction or an exponent, or a whole number beyond Int64.
    case number(Double)
    case text

    init(_ text: String) {
        switch text {
        case "", "~", "null", "Null", "NULL": self = .null
        case "true", "True", "TRUE": self = .bool(true)
        case "false", "False", "FALSE": self = .bool(false)
        default: self = Self.numeric(text)
        }
    }

    private static func numeric(_ text: String) -> PlainScalar {
        for (prefix, radix) in [("0o", 8), ("0x", 16)] where text.hasPrefix(prefix) {
            let digits = text.dropFirst(2)
            // Int64(_:radix:) takes a sign as well, which the core schema doesn't have here.
            guard let first = digits.first, first != "+", first != "-", let value = Int64(digits, radix: radix) else { return .text }
            return .integer(value)
        }
        let unsigned = text.first == "+" || text.first == "-" ? text.dropFirst() : text[...]
        switch unsigned {
        case ".inf", ".Inf", ".INF": return .number(text.hasPrefix("-") ? -.infinity : .infinity)
        case ".nan", ".NaN", ".NAN": return unsigned.count == text.count ? .number(.nan) : .text
        default: break
        }
        guard isDecimal(unsigned) else { return .text }
        if let value = Int64(text) { return .integer(value) }
        return Double(text).map(PlainScalar.number) ?? .text
    }

    /// Whether a text has the form `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`; `Double(_:)` accepts more.
    private static func isDecimal(_ text: Substring) -> Bool {
        var rest = text.utf8[...]
        func digits() -> Int {
            let count = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }.count
            rest = rest.dropFirst(count)
            return count
        }
        var mantissa = digits()
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            mantissa += digits()
        }
        guard mantissa > 0 else { return false }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard digits() > 0 else { return false }
        }
        return rest.isEmpty
    }
}
