/// What a text becomes when each of its parts in turn is replaced by an extreme one.
enum Extremes {
    private static let numbers = [
        "0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e308", "nan", "0.5", "null", #""1""#, "[]",
    ]
    private static let long = String(repeating: "x", count: 70_000)
    private static let texts = [#""""#, "\"\(long)\"", #""\u0000\n/..""#, "null", "-1", "[]", "{}"]
    /// Whole inputs that are nobody's.
    private static let strangers: [[UInt8]] = [
        [], [0], [0xFF, 0xFE], Array("null".utf8), Array("{}".utf8), Array("[]".utf8), Array(String(repeating: "[", count: 20_000).utf8),
        Array(String(repeating: #"{"a":"#, count: 20_000).utf8), Array(long.utf8),
    ]

    /// Returns the inputs that are made of a sample: each number, each quoted text and each member's name replaced, the end cut off anywhere, and
    /// what has nothing to do with it.
    static func inputs(of sample: String) -> [[UInt8]] {
        let bytes = Array(sample.utf8)
        let step = max(1, bytes.count / 200)
        return strangers + stride(from: 0, to: bytes.count, by: step).map { Array(bytes[..<$0]) } + [bytes + bytes]
            + parts(of: bytes).flatMap { part in
                part.replacements.map { Array(bytes[..<part.range.lowerBound]) + Array($0.utf8) + Array(bytes[part.range.upperBound...]) }
            }
    }

    private static func parts(of bytes: [UInt8]) -> [(range: Range<Int>, replacements: [String])] {
        var parts: [(Range<Int>, [String])] = []
        var index = 0
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        while index < bytes.count {
            let start = index
            if bytes[index] == UInt8(ascii: "\"") {
                index = (bytes[(index + 1)...].firstIndex(of: UInt8(ascii: "\"")) ?? bytes.count - 1) + 1
                let isName = index < bytes.count && bytes[index] == UInt8(ascii: ":")
                parts.append((start..<index, isName ? [#""another""#, #""""#] : texts))
            } else if isDigit(bytes[index]) {
                index = bytes[index...].firstIndex { !isDigit($0) } ?? bytes.count
                parts.append((start..<index, numbers))
            } else {
                index += 1
            }
        }
        return parts
    }
}
