/// A reader of JSON, RFC 8259, that tells the first departure from its grammar.
///
/// Foundation's decoder doesn't tell where that is, and accepts a trailing comma; for a value of any form it also tries one type after the
/// other, each of which is looked up in the program's tables of conformances, and each that fails costs as much as the value is deep. What is
/// accepted becomes the same value there.
package struct JSONSyntax {
    /// The first place where the text isn't JSON.
    package struct Problem: Hashable, Error {
        package var line: Int
        /// The column, counted in Unicode scalars from 1.
        package var column: Int
        package var message: String

        package init(line: Int, column: Int, message: String) { (self.line, self.column, self.message) = (line, column, message) }
    }

    /// The nesting that a request can have; decoding recurses.
    package static let maximumDepth = 128
    /// The nesting that an answer, or a payload, can have: each level of a tree takes two.
    package static let maximumAnswerDepth = 512

    private struct Departure: Error {
        var message: String
    }

    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var index = 0

    private init(_ bytes: [UInt8], _ maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    /// Returns the first problem; nil when the bytes are one JSON value in UTF-8.
    package static func firstProblem(in bytes: [UInt8], maximumDepth: Int = maximumDepth) -> Problem? {
        do throws(Problem) {
            _ = try value(of: bytes, maximumDepth: maximumDepth)
            return nil
        } catch {
            return error
        }
    }

    /// Returns the value that the bytes are, one JSON value in UTF-8.
    package static func value(of bytes: [UInt8], maximumDepth: Int = maximumDepth) throws(Problem) -> JSONValue {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw Problem(line: 1, column: 1, message: "the text isn't UTF-8")
        }
        var syntax = JSONSyntax(bytes, maximumDepth)
        do throws(Departure) {
            let value = try syntax.value(depth: 0)
            syntax.skipSpace()
            guard syntax.index == bytes.count else { throw Departure(message: "expected the end after the value") }
            return value
        } catch {
            let before = bytes[..<syntax.index]
            let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let isScalarStart = { (byte: UInt8) in byte & 0xC0 != 0x80 }
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            throw Problem(line: line, column: bytes[lineStart..<syntax.index].count(where: isScalarStart) + 1, message: error.message)
        }
    }

    private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { index += 1 }
    }

    private mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard current == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func value(depth: Int) throws(Departure) -> JSONValue {
        guard depth < maximumDepth else { throw Departure(message: "nested more than \(maximumDepth) deep") }
        skipSpace()
        switch current {
        case UInt8(ascii: "{")?: return try object(depth: depth)
        case UInt8(ascii: "[")?: return try array(depth: depth)
        case UInt8(ascii: "\"")?: return .string(try string())
        case UInt8(ascii: "t")?: return try word("true", .bool(true))
        case UInt8(ascii: "f")?: return try word("false", .bool(false))
        case UInt8(ascii: "n")?: return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || Self.isDigit(byte): return try number()
        case nil: throw Departure(message: "expected a value, found the end")
        default: throw Departure(message: "expected a value")
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Departure) -> JSONValue {
        let text = Array("\(word)".utf8)
        guard bytes[index...].starts(with: text) else {
            throw Departure(message: "expected a value (true, false, null, or a text in double quotes)")
        }
        index += text.count
        return value
    }

    private mutating func object(depth: Int) throws(Departure) -> JSONValue {
        var members: [String: JSONValue] = [:]
        index += 1
        skipSpace()
        if consume("}") { return .object(members) }
        repeat {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw Departure(message: "expected a key in double quotes") }
            let key = try string()
            skipSpace()
            guard consume(":") else { throw Departure(message: "expected a colon after the key") }
            let value = try value(depth: depth + 1)
            // Of two members with one name the first counts, as with Foundation's decoder.
            if members[key] == nil { members[key] = value }
            skipSpace()
        } while consume(",")
        guard consume("}") else { throw Departure(message: "expected a comma or the end of the object") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(Departure) -> JSONValue {
        var elements: [JSONValue] = []
        index += 1
        skipSpace()
        if consume("]") { return .array(elements) }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipSpace()
        } while consume(",")
        guard consume("]") else { throw Departure(message: "expected a comma or the end of the array") }
        return .array(elements)
    }

    private mutating func string() throws(Departure) -> String {
        index += 1
        var (text, start) = ("", index)
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                text += String(decoding: bytes[start..<index], as: UTF8.self)
                index += 1
                return text
            case UInt8(ascii: "\\"):
                text += String(decoding: bytes[start..<index], as: UTF8.self)
                text.unicodeScalars.append(try escape())
                start = index
            case 0..<0x20: throw Departure(message: "a control character in a text; write it as an escape")
            default: index += 1
            }
        }
        throw Departure(message: "expected the closing quote of a text, found the end")
    }

    /// Reads an escape; one of a surrogate must be followed by the pair's other half.
    private mutating func escape() throws(Departure) -> Unicode.Scalar {
        let unit = try escapedUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        if UTF16.isTrailSurrogate(unit) { throw Departure(message: "the second half of a surrogate pair without the first") }
        guard current == UInt8(ascii: "\\"), case let next = try escapedUnit(), UTF16.isTrailSurrogate(next) else {
            throw Departure(message: "the first half of a surrogate pair without the second")
        }
        return Unicode.Scalar(0x1_0000 + ((UInt32(unit) & 0x3FF) << 10) + (UInt32(next) & 0x3FF)) ?? "\u{FFFD}"
    }

    /// Reads one escape, which stands for a code unit of UTF-16.
    private mutating func escapedUnit() throws(Departure) -> UInt16 {
        let start = index
        index += 1
        switch current {
        case UInt8(ascii: "u")?:
            let digits = bytes[(index + 1)...].prefix(4)
            let isHexadecimal = digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit && $0 < 0x80 }
            guard digits.count == 4, isHexadecimal, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else { break }
            index += 5
            return unit
        case let letter?:
            guard let unit = Self.unit(ofLetter: letter) else { break }
            index += 1
            return unit
        case nil: break
        }
        index = start
        throw Departure(message: "expected an escape such as \\n or \\u00e9")
    }

    private static func unit(ofLetter letter: UInt8) -> UInt16? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): UInt16(letter)
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    private mutating func digits() -> Int {
        let start = index
        while let byte = current, Self.isDigit(byte) { index += 1 }
        return index - start
    }

    private mutating func number() throws(Departure) -> JSONValue {
        let start = index
        _ = consume("-")
        let leadingZero = current == UInt8(ascii: "0")
        let count = digits()
        guard count > 0 else { throw Departure(message: "expected a digit") }
        guard count == 1 || !leadingZero else { throw Departure(message: "a number doesn't begin with a zero") }
        if consume("."), digits() == 0 { throw Departure(message: "expected a digit after the point") }
        if consume("e") || consume("E") {
            if !consume("+") { _ = consume("-") }
            guard digits() > 0 else { throw Departure(message: "expected a digit in the exponent") }
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        if let integer = Int64(text) { return .integer(integer) }
        // The grammar allows numbers of any size, a Double doesn't.
        guard let number = Double(text), number.isFinite else {
            index = start
            throw Departure(message: "a number beyond 1.8e308")
        }
        // 1.0 and 1e3 are integers too.
        return Int64(exactly: number).map(JSONValue.integer) ?? .number(number)
    }
}
