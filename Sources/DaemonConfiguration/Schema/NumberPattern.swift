/// Regular expressions of whole numbers, by which a JSON schema bounds numbers in texts.
///
/// Zeros may come first.
enum NumberPattern {
    /// What stands before another expression: the number isn't zero.
    static let isPositive = "(?=0*[1-9])"
    /// The ports from 0.
    static let port = atMost(65_535)

    static func atLeast(_ minimum: Int) -> String {
        "0*(\(minimum)|[1-9][0-9]{\("\(minimum)".count),}\(others(minimum) { $0 < 9 ? $0 + 1...9 : nil }))"
    }

    static func atMost(_ maximum: Int) -> String {
        "0*(\(maximum)|[0-9]{1,\("\(maximum)".count - 1)}\(others(maximum) { $0 > 0 ? 0...$0 - 1 : nil }))"
    }

    /// The numbers of as many digits of which the first digit that differs is one of these.
    private static func others(_ number: Int, _ range: (Int) -> ClosedRange<Int>?) -> String {
        let digits = "\(number)".compactMap(\.wholeNumberValue)
        return digits.indices.compactMap { index in
            range(digits[index]).map { range in
                let first = digits[..<index].map(String.init).joined()
                return "|\(first)[\(range.lowerBound)-\(range.upperBound)][0-9]{\(digits.count - index - 1)}"
            }
        }.joined()
    }
}
