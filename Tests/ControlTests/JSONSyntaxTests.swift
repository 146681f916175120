import FoundationEssentials
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// The reading of JSON.
@Suite struct JSONSyntaxTests {
    @Test(
        "The first departure from the grammar is reported with its line and column",
        arguments: [
            ("", 1, 1, "expected a value, found the end"), ("{", 1, 2, "expected a key in double quotes"),
            ("{a:1}", 1, 2, "expected a key in double quotes"),
            ("{'a':1}", 1, 2, "expected a key in double quotes"), (#"{"a" 1}"#, 1, 6, "expected a colon after the key"),
            (#"{"a":1,}"#, 1, 8, "expected a key in double quotes"), (#"{"a":1 "b":2}"#, 1, 8, "expected a comma or the end of the object"),
            ("[1,]", 1, 4, "expected a value"), ("[1", 1, 3, "expected a comma or the end of the array"),
            ("{}x", 1, 3, "expected the end after the value"),
            ("\"ab", 1, 4, "expected the closing quote of a text, found the end"),
            ("\"a\nb\"", 1, 3, "a control character in a text; write it as an escape"),
            (#""\q""#, 1, 2, "expected an escape such as \\n or \\u00e9"),
            (#""\u12g4""#, 1, 2, "expected an escape such as \\n or \\u00e9"),
            (#""\u+123""#, 1, 2, "expected an escape such as \\n or \\u00e9"),
            (#""\ud800""#, 1, 8, "the first half of a surrogate pair without the second"),
            (#""\udc00""#, 1, 8, "the second half of a surrogate pair without the first"),
            ("01", 1, 3, "a number doesn't begin with a zero"), ("-", 1, 2, "expected a digit"),
            ("1.", 1, 3, "expected a digit after the point"),
            ("1e", 1, 3, "expected a digit in the exponent"), ("+1", 1, 1, "expected a value"),
            ("[1e308, -7.5e311]", 1, 9, "a number beyond 1.8e308"),
            ("nul", 1, 1, "expected a value (true, false, null, or a text in double quotes)"),
            ("{\n  \"ä\": tru\n}", 2, 8, "expected a value (true, false, null, or a text in double quotes)"),
            ("NaN", 1, 1, "expected a value"),
        ] as [(String, Int, Int, String)]
    )
    func whereATextIsNotJSON(text: String, line: Int, column: Int, message: String) {
        #expect(JSONSyntax.firstProblem(in: Array(text.utf8)) == .init(line: line, column: column, message: message))
    }

    @Test("Bytes that aren't UTF-8 are a problem")
    func bytesThatAreNotText() {
        #expect(JSONSyntax.firstProblem(in: [0x22, 0xFF, 0x22]) == .init(line: 1, column: 1, message: "the text isn't UTF-8"))
    }

    @Test(
        "A text that is JSON decodes to its value",
        arguments: [
            (" null ", nil), ("true", true), ("-0", 0), ("12", 12), ("1.5e+2", 150), ("\t[ ]\r\n", []), ("{}", [:]),
            (#"{"a":[{"b":"\u00e9\ud83d\ude00\n"}]}"#, ["a": [["b": "é😀\n"]]]),
            ("9223372036854775807", .integer(.max)), ("9223372036854775808", 9.223_372_036_854_775_808e18), ("1.0", 1), ("0.5", 0.5),
            ("\"\u{7F}/\\/\"", "\u{7F}//"), (#"{"a":1,"b":[],"a":2}"#, ["a": 1, "b": []]), (#""\b\f\r\t\\\"""#, "\u{8}\u{C}\r\t\\\""),
        ] as [(String, JSONValue)]
    )
    func whatATextMeans(text: String, value: JSONValue) throws {
        #expect(try ControlJSON.parse(Array(text.utf8)) == value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value, "Foundation reads another value")
    }

    @Test("A value is written as Foundation writes it, with sorted keys")
    func whatAValueIsWrittenAs() throws {
        let texts = ["", "a/b", "\u{0}\u{8}\u{9}\u{A}\u{B}\u{C}\u{D}\u{F}\u{10}\u{1F}\u{7F}\u{85}\u{2028}", "\"\\", "é😀", "e\u{301}"]
        let numbers = [0, -0.0, 0.1, 1.5, -2.25, 100, 1e15, 1e16, 1e20, 1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .pi]
        let keys = ["a", "B", "b", "10", "9", "_", "é", "e\u{301}x", "a b", "ab", "😀", ""]
        let value: JSONValue = [
            "texts": .array(texts.map(JSONValue.string)), "numbers": .array(numbers.map(JSONValue.number)),
            "others": [nil, true, false, [], [:], .integer(.min), .integer(.max), [[1], ["x": nil]]],
            "keys": .object(Dictionary(uniqueKeysWithValues: keys.map { ($0, .null) })),
        ]
        #expect(
            String(decoding: try ControlJSON.bytes(of: value), as: UTF8.self)
                == String(decoding: try Self.foundationBytes(of: value), as: UTF8.self)
        )
        #expect(throws: ControlError.self) { try ControlJSON.bytes(of: .number(.infinity)) }
    }

    private static func foundationBytes(of value: JSONValue) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }

    @Test("Nesting beyond the limit is a problem")
    func depthIsBounded() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(JSONSyntax.firstProblem(in: nested(128)) == nil)
        #expect(JSONSyntax.firstProblem(in: nested(129))?.message == "nested more than 128 deep")
    }

    /// In several parts: a test that takes seconds without a pause takes a thread of the pool from all others.
    @Test("A damaged text is either refused, or read as Foundation's decoder reads it", arguments: 0..<rounds(short: 4, all: 40, long: 400))
    func damagedTextsAreRefusedOrRead(_ part: Int) throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let good = Array(#"{"v":1,"id":-7.5e3,"op":"ask","payload":[true,false,null,"\u00e9\n",{"k":[]}],"":{}}"#.utf8)
        let alphabet = Array("{}[]\",:\\ue01.-+tfn \n".utf8) + [0, 0xC3, 0xFF]
        for _ in 0..<500 {
            var text = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: text.indices, using: &random)
                switch random.next() % 3 {
                case 0: text[index] = alphabet.randomElement(using: &random) ?? 0
                case 1: text.insert(alphabet.randomElement(using: &random) ?? 0, at: index)
                default: text.remove(at: index)
                }
            }
            guard let value = try? ControlJSON.parse(text) else { continue }
            let comment: Comment = "seed \(seed): \(String(decoding: text, as: UTF8.self))"
            #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text)) == value, comment)
            #expect(try ControlJSON.bytes(of: value) == Self.foundationBytes(of: value), comment)
        }
    }
}
