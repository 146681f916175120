import TestSupport
import Testing
import WireProtocol

@Suite("The writer of JSON")
struct JSONWriterTests {
    private func value(_ chance: inout SeededGenerator, depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &chance) {
        case 0: .null
        case 1: .bool(.random(using: &chance))
        case 2: .integer(.random(in: .min ... .max, using: &chance))
        // One that has a fraction: a whole number is read as an integer.
        case 3: .number(Double(Int.random(in: -1_000_000...1_000_000, using: &chance)) + 0.25)
        case 4: .string(text(&chance))
        case 5: .array((0..<Int.random(in: 0...4, using: &chance)).map { _ in value(&chance, depth: depth - 1) })
        default:
            .object(
                Dictionary((0..<Int.random(in: 0...4, using: &chance)).map { _ in (text(&chance), value(&chance, depth: depth - 1)) }) {
                    first,
                    _ in first
                }
            )
        }
    }

    private func text(_ chance: inout SeededGenerator) -> String {
        let scalars: [Unicode.Scalar] = ["a", "\"", "\\", "/", "\n", "\u{0}", "\u{1F}", "\u{7F}", "ä", "\u{2028}", "😀"]
        var text = ""
        for _ in 0..<Int.random(in: 0...6, using: &chance) { text.unicodeScalars.append(scalars.randomElement(using: &chance) ?? "a") }
        return text
    }

    @Test("What is written is read as it was")
    func roundTrip() throws {
        var chance = SeededGenerator()
        for _ in 0..<2_000 {
            let value = value(&chance, depth: 4)
            #expect(try JSONSyntax.value(of: JSONWriter.text(of: value)) == value)
        }
    }

    @Test(
        "Numbers that JSON doesn't have are written as payloads have them",
        arguments: [(Double.nan, "NaN"), (.infinity, "Infinity"), (-.infinity, "-Infinity")]
    )
    func nonFinite(number: Double, text: String) {
        #expect(String(decoding: JSONWriter.text(of: .array([.number(number)])), as: UTF8.self) == "[\"\(text)\"]")
    }
}
