import TestSupport
import Testing
import WireProtocol

@testable import Control

/// The check of a text against the grammar of JSON.
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
            ("9223372036854775807", .integer(.max)), ("\"\u{7F}/\\/\"", "\u{7F}//"),
        ] as [(String, JSONValue)]
    )
    func whatATextMeans(text: String, value: JSONValue) throws {
        #expect(try ControlJSON.parse(Array(text.utf8)) == value)
    }

    @Test("Nesting beyond the limit is a problem")
    func depthIsBounded() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(JSONSyntax.firstProblem(in: nested(128)) == nil)
        #expect(JSONSyntax.firstProblem(in: nested(129))?.message == "nested more than 128 deep")
    }

    /// Foundation decodes every text that the check accepts, however a good text was damaged.
    @Test("A damaged text is either refused or decoded")
    func damagedTextsAreRefusedOrDecoded() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let good = Array(#"{"v":1,"id":-7.5e3,"op":"ask","payload":[true,false,null,"\u00e9\n",{"k":[]}],"":{}}"#.utf8)
        let alphabet = Array("{}[]\",:\\ue01.-+tfn \n".utf8) + [0, 0xC3, 0xFF]
        for _ in 0..<20_000 {
            var text = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: text.indices, using: &random)
                switch random.next() % 3 {
                case 0: text[index] = alphabet.randomElement(using: &random) ?? 0
                case 1: text.insert(alphabet.randomElement(using: &random) ?? 0, at: index)
                default: text.remove(at: index)
                }
            }
            guard JSONSyntax.firstProblem(in: text) == nil else { continue }
            #expect(throws: Never.self, "seed \(seed): \(String(decoding: text, as: UTF8.self))") { try ControlJSON.parse(text) }
        }
    }
}
