import Glibc

/// Points in time as text, in the form of RFC 3339 in UTC with microseconds: texts are in the order of the times.
///
/// https://www.rfc-editor.org/rfc/rfc3339
public enum Timestamp {
    /// The length of the text, in bytes.
    public static let length = 27

    /// The microseconds since 1970.
    public static var nowMicroseconds: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    }

    /// The present time as text.
    public static var now: String { text(microseconds: nowMicroseconds) }

    /// Returns a time as text; times before 1970 and after 9999 become the first and the last one within.
    public static func text(microseconds: Int64) -> String { String(decoding: bytes(microseconds: microseconds), as: UTF8.self) }

    /// Returns a time as text, from milliseconds since 1970.
    public static func text(milliseconds: Int64) -> String { text(microseconds: min(max(milliseconds, 0), .max / 1000) * 1000) }

    /// Returns a time as text in ASCII.
    public static func bytes(microseconds: Int64) -> [UInt8] {
        let microseconds = min(max(microseconds, 0), 253_402_300_799_999_999)
        let (seconds, fraction) = (microseconds / 1_000_000, microseconds % 1_000_000)
        let (year, month, day) = date(ofDay: seconds / 86_400)
        let second = seconds % 86_400
        var text: [UInt8] = []
        text.reserveCapacity(length)
        append(year, 4, to: &text)
        text.append(UInt8(ascii: "-"))
        append(month, 2, to: &text)
        text.append(UInt8(ascii: "-"))
        append(day, 2, to: &text)
        text.append(UInt8(ascii: "T"))
        append(second / 3600, 2, to: &text)
        text.append(UInt8(ascii: ":"))
        append(second / 60 % 60, 2, to: &text)
        text.append(UInt8(ascii: ":"))
        append(second % 60, 2, to: &text)
        text.append(UInt8(ascii: "."))
        append(fraction, 6, to: &text)
        text.append(UInt8(ascii: "Z"))
        return text
    }

    /// Reads a time: a date, and after `T` or a space a time of day with or without seconds and a fraction, and `Z`, an offset such as
    /// `+02:00`, or nothing for UTC.
    ///
    /// - Returns: the microseconds since 1970; nil when the text is none.
    public static func microseconds(of text: String) -> Int64? {
        var reader = Reader(text)
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"), let date = reader.number(2),
            (1...12).contains(month), (1...31).contains(date)
        else { return nil }
        var seconds = day(year, month, date) * 86_400
        if reader.isAtEnd { return seconds * 1_000_000 }
        guard reader.take("T") || reader.take(" "), let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), hour < 24,
            minute < 60
        else { return nil }
        seconds += hour * 3600 + minute * 60
        var fraction: Int64 = 0
        if reader.take(":") {
            guard let second = reader.number(2), second <= 60 else { return nil }
            seconds += second
            if reader.take(".") {
                guard let read = reader.fraction() else { return nil }
                fraction = read
            }
        }
        guard let offset = reader.offset(), reader.isAtEnd else { return nil }
        return (seconds - offset) * 1_000_000 + fraction
    }

    private struct Reader {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = text[...].utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        /// Takes a number of exactly so many digits.
        mutating func number(_ count: Int) -> Int64? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest = rest.dropFirst(count)
            return Int64(String(Substring(digits)))
        }

        /// Takes the digits of a fraction of a second, and returns its microseconds.
        mutating func fraction() -> Int64? {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard (1...9).contains(digits.count) else { return nil }
            rest = rest.dropFirst(digits.count)
            return Int64((String(Substring(digits)) + "00000").prefix(6))
        }

        /// Takes an offset from UTC, and returns its seconds; nothing is none.
        mutating func offset() -> Int64? {
            if isAtEnd || take("Z") { return 0 }
            let isNegative = rest.first == UInt8(ascii: "-")
            guard take("+") || take("-"), let hours = number(2), take(":"), let minutes = number(2) else { return nil }
            return (hours * 3600 + minutes * 60) * (isNegative ? -1 : 1)
        }
    }

    private static func append(_ number: Int64, _ width: Int, to text: inout [UInt8]) {
        var divisor: Int64 = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
    }

    /// Returns the Gregorian date of a day since 1970; the algorithm of https://howardhinnant.github.io/date_algorithms.html#civil_from_days.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let ofEra = shifted % 146_097
        let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * year + year / 4 - year / 100)
        let month = (5 * ofYear + 2) / 153
        let civil = month < 10 ? month + 3 : month - 9
        return (year + era * 400 + (civil <= 2 ? 1 : 0), civil, ofYear - (153 * month + 2) / 5 + 1)
    }

    /// Returns the day since 1970 of a Gregorian date; the inverse of the function above.
    private static func day(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, ofEra) = (year / 400, year % 400)
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }
}
