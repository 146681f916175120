import TestSupport

extension SeededGenerator {
    mutating func bytes(upTo count: Int) -> [UInt8] {
        (0..<Int.random(in: 0...count, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    mutating func text(upTo count: Int = 20) -> String {
        let alphabet = Array("abcXYZ./-_ äß€𝄞👩‍🚀\u{0}\u{7F}")
        return String((0..<Int.random(in: 0...count, using: &self)).map { _ in alphabet.randomElement(using: &self) ?? "a" })
    }
}
