// The name of this file comes after those of files that use Glibc: before them, the release build with the static library finds the members of
// `timespec` in another module (Swift 6.3.1).

extension Duration {
    /// Reads a duration as it is written in configuration files and on the command line: a whole number and a unit, `250ms`, `5s`, `2m`, `1h`.
    ///
    /// Returns nil for any other text. A number without a unit is such a text: the unit of `timeout: 5` would be a guess.
    package init?(configurationText text: String) {
        let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        // Twelve digits of hours fit a Duration; a longer number is a typing error.
        guard (1...12).contains(digits.count), let count = Int64(String(text.prefix(digits.count))) else { return nil }
        switch text.dropFirst(digits.count) {
        case "ms": self = .milliseconds(count)
        case "s": self = .seconds(count)
        case "m": self = .seconds(count * 60)
        case "h": self = .seconds(count * 3600)
        default: return nil
        }
    }

    /// The shortest text that reads as this duration; a part of a millisecond is left out.
    package var configurationText: String {
        let (seconds, attoseconds) = components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        // A Duration holds more milliseconds than an Int64 does.
        if milliseconds != 0 { return "\(Int128(seconds) * 1000 + Int128(milliseconds))ms" }
        for (size, unit): (Int64, String) in [(3600, "h"), (60, "m")] where seconds != 0 && seconds.isMultiple(of: size) {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }
}
