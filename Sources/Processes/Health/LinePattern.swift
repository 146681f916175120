import Glibc

/// A POSIX extended regular expression that lines are compared with, see regex(7).
///
/// Its memory and time are bounded by the length of a line: it has no back-references, and few and small repetition counts.
package final class LinePattern: @unchecked Sendable {
    /// The reason why a text is no pattern.
    package struct Problem: Error {
        package let message: String
    }

    private static let maximumCount = 64

    // Unsafe: it's written by the initialiser and `deinit` alone, and regexec(3) only reads it.
    private var expression = regex_t()

    /// Creates a pattern.
    package init(_ text: String) throws(Problem) {
        if let problem = Self.problem(of: text) { throw Problem(message: "the pattern `\(text)` \(problem)") }
        let status = regcomp(&expression, text, REG_EXTENDED | REG_NOSUB)
        guard status == 0 else {
            var buffer = [CChar](repeating: 0, count: 256)
            let length = regerror(status, &expression, &buffer, buffer.count)
            let reason = String(decoding: buffer.prefix(max(0, length - 1)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // A failed regcomp has freed what it had allocated.
            throw Problem(message: "the pattern `\(text)` isn't a regular expression: \(reason)")
        }
    }

    deinit { regfree(&expression) }

    /// Whether the pattern is in the line.
    package func matches(_ line: String) -> Bool { regexec(&expression, line, 0, nil, 0) == 0 }

    private static func problem(of text: String) -> String? {
        var (former, counts): (Character, Int) = (" ", 0)
        for (index, character) in zip(text.indices, text) {
            if former == "\\", ("1"..."9").contains(character) { return "has a back-reference; expected none" }
            if character == "{", former != "\\" {
                counts += 1
                let numbers = text[index...].dropFirst().prefix { $0 != "}" }.split(separator: ",").compactMap { Int($0) }
                if counts > 2 || numbers.contains(where: { $0 > maximumCount }) {
                    return "repeats too much; expected two counts at most, each up to \(maximumCount)"
                }
            }
            former = former == "\\" ? " " : character
        }
        return nil
    }
}
