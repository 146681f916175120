/// The times of a calendar, in the five fields of cron: minute, hour, day of the month, month, day of the week.
///
/// A field is `*`, a number, a range `1-5`, either with a step `*/15`, or a list of these; months and days of the week have names too. If both
/// days are restricted, a day needs to satisfy one of them; a field that begins with `*` restricts nothing for that matter. Instead of the
/// fields there may be `@hourly`, `@daily` (or `@midnight`), `@weekly`, `@monthly`, `@yearly` (or `@annually`).
///
/// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/crontab.html and crontab(5) of Paul Vixie's cron
public struct CronExpression: Codable, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with a text.
    package struct Problem: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    static let words = [
        "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
    ]
    /// The years within which a time must come: February 29 falls on each day of the week within them, 2100 included.
    private static let horizon = 41

    /// The text as it was written.
    public let description: String
    /// The values that a field allows, one a bit.
    private let minutes, hours, days, months, weekdays: UInt64
    /// Whether a day has to satisfy both fields of days.
    private let needsBothDays: Bool
    /// Whether the hours are all, or in steps of all: what the clock shows twice comes twice then, and what it leaves out isn't made up for.
    private let isEveryHour: Bool

    /// Reads an expression.
    package init(_ text: String) throws(Problem) {
        let fields = (Self.words[text] ?? text).split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        if text.hasPrefix("@"), Self.words[text] == nil {
            throw Problem(description: "there is no `\(text)`; expected one of \(Self.words.keys.sorted().joined(separator: ", "))")
        }
        guard fields.count == 5 else {
            throw Problem(
                description: "it has \(fields.count) fields; expected five: minute, hour, day of the month, month, day of the week"
            )
        }
        description = text
        minutes = try CronField.minute.read(fields[0])
        hours = try CronField.hour.read(fields[1])
        days = try CronField.day.read(fields[2])
        months = try CronField.month.read(fields[3])
        let weekdays = try CronField.weekday.read(fields[4])
        // Sunday is 0 and 7.
        self.weekdays = (weekdays | weekdays >> 7) & 0x7F
        needsBothDays = fields[2].hasPrefix("*") || fields[4].hasPrefix("*")
        isEveryHour = fields[1].hasPrefix("*")
        guard (0..<Self.horizon * 366).contains(where: { isOn(Self.reference + $0) }) else {
            throw Problem(description: "no year has such a day; expected a date that there is")
        }
    }

    /// January 1, 2000, in days since 1970: the beginning of the years that are looked at for a date.
    private static let reference = 10_957

    /// Reads the text that was encoded.
    public init(from decoder: any Decoder) throws { try self.init(String(from: decoder)) }

    /// Encodes the text.
    public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }

    // MARK: Times

    /// Returns the first time after another one, in seconds since 1970; nil if none comes in some forty years.
    ///
    /// A time that the zone's clock leaves out comes at the end of what it leaves out, and one that the clock shows twice comes the first time
    /// alone. With every hour (`*`, `*/2`) it's what the clock shows that counts: no time is made up for, and each comes as often as it's shown.
    package func next(after time: Int64, in zone: ZoneRules) -> Int64? {
        let first = (time + Int64(zone.offset(at: time))).flooredQuotient(86_400)
        // A clock that is set back across midnight shows the end of a day after the beginning of the next one.
        for day in (Int(first) - 1)...(Int(first) + Self.horizon * 366) where isOn(day) {
            guard let found = firstTime(onDay: day, after: time, zone) else { continue }
            let other = isOn(day + 1) ? firstTime(onDay: day + 1, after: time, zone) : nil
            return min(found, other ?? found)
        }
        return nil
    }

    /// Whether a day, counted since 1970, is one of the expression's.
    private func isOn(_ day: Int) -> Bool {
        let (month, date) = CivilDate.monthAndDay(ofDay: day)
        guard months.has(month) else { return false }
        // January 1, 1970, was a Thursday.
        let (isDate, isWeekday) = (days.has(date), weekdays.has((day + 4).flooredRemainder(7)))
        return needsBothDays ? isDate && isWeekday : isDate || isWeekday
    }

    private func firstTime(onDay day: Int, after time: Int64, _ zone: ZoneRules) -> Int64? {
        let midnight = Int64(day) * 86_400
        let (before, behind) = (zone.offset(at: midnight - 93_600), zone.offset(at: midnight + 180_000))
        var best: Int64?
        for hour in 0..<24 where hours.has(hour) {
            for minute in 0..<60 where minutes.has(minute) {
                let local = midnight + Int64(hour * 3600 + minute * 60)
                if before == behind {
                    // The offset changes on few days.
                    if local - Int64(before) > time { return local - Int64(before) }
                    continue
                }
                // What is passed for certain, or comes later than what was found, needs no closer look.
                if local - Int64(min(before, behind)) <= time { continue }
                if let best, local - Int64(max(before, behind)) > best { return best }
                for found in zone.times(of: local, Set([before, behind]), isEveryHour) where found > time {
                    best = min(best ?? found, found)
                }
            }
        }
        return best
    }
}

/// A field of an expression.
private struct CronField {
    let name: String
    let range: ClosedRange<Int>
    var names: [String] = []

    static let minute = CronField(name: "minute", range: 0...59)
    static let hour = CronField(name: "hour", range: 0...23)
    static let day = CronField(name: "day of the month", range: 1...31)
    static let month = CronField(
        name: "month",
        range: 1...12,
        names: ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    )
    static let weekday = CronField(name: "day of the week", range: 0...7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])

    /// Reads the values that a field allows.
    func read(_ text: String) throws(CronExpression.Problem) -> UInt64 {
        var values: UInt64 = 0
        for part in text.split(separator: ",", omittingEmptySubsequences: false) { values |= try self.part(part) }
        return values
    }

    private func part(_ text: Substring) throws(CronExpression.Problem) -> UInt64 {
        let pieces = text.split(separator: "/", omittingEmptySubsequences: false)
        let bounds = pieces[0].split(separator: "-", omittingEmptySubsequences: false)
        guard pieces.count <= 2, bounds.count <= 2 else { throw problem(text) }
        var step = 1
        if pieces.count == 2 {
            guard let number = number(pieces[1]), (1...range.upperBound).contains(number) else {
                throw CronExpression.Problem(
                    description: "the step of `\(text)`, for the \(name), is none; expected 1 to \(range.upperBound)"
                )
            }
            step = number
        }
        let (first, last): (Int, Int)
        if pieces[0] == "*" {
            (first, last) = (range.lowerBound, range.upperBound)
        } else {
            first = try value(bounds[0], text)
            var end = bounds.count == 2 ? try value(bounds[1], text) : first
            // A week may end on Sunday.
            if range.upperBound == 7, bounds.count == 2, end == 0, first > 0 { end = 7 }
            last = end
            if pieces.count == 2, bounds.count == 1 {
                let expected = "\(bounds[0])-\(range.upperBound)/\(step)"
                throw CronExpression.Problem(description: "`\(text)`, for the \(name), has a step without a range; expected `\(expected)`")
            }
        }
        guard first <= last else {
            throw CronExpression.Problem(description: "`\(text)`, for the \(name), ends before it begins; expected two ranges")
        }
        return stride(from: first, through: last, by: step).reduce(0) { $0 | 1 << UInt64($1) }
    }

    private func value(_ text: Substring, _ part: Substring) throws(CronExpression.Problem) -> Int {
        if let index = names.firstIndex(of: text.lowercased()), !text.isEmpty { return index }
        guard let number = number(text), range.contains(number) else { throw problem(part) }
        return number
    }

    /// Reads digits alone, and few of them.
    private func number(_ text: Substring) -> Int? {
        (1...2).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    private func problem(_ text: Substring) -> CronExpression.Problem {
        let examples = names.isEmpty ? "" : ", or a name such as `\(names[1])`"
        return CronExpression.Problem(
            description:
                "`\(text)` is no \(name); expected `*`, \(range.lowerBound) to \(range.upperBound)\(examples), a range or a list of these"
        )
    }
}

/// The calendar of all zones, in days since 1970.
enum CivilDate {
    /// Returns the month and the day of the month, both from 1.
    ///
    /// http://howardhinnant.github.io/date_algorithms.html#civil_from_days
    static func monthAndDay(ofDay day: Int) -> (month: Int, day: Int) {
        let shifted = day + 719_468
        let dayOfEra = shifted.flooredRemainder(146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        return (month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
    }

    /// Returns the days from the beginning of 1970 to that of a year.
    static func day(ofYear year: Int) -> Int {
        let former = year - 1
        return former * 365 + former.flooredQuotient(4) - former.flooredQuotient(100) + former.flooredQuotient(400) - 719_162
    }

    static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// Returns the year of a day.
    static func year(ofDay day: Int) -> Int {
        var year = 1970 + day.flooredQuotient(365)
        while self.day(ofYear: year) > day { year -= 1 }
        while self.day(ofYear: year + 1) <= day { year += 1 }
        return year
    }
}

extension BinaryInteger {
    func flooredQuotient(_ divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    func flooredRemainder(_ divisor: Self) -> Self { self - flooredQuotient(divisor) * divisor }
}

extension UInt64 {
    fileprivate func has(_ bit: Int) -> Bool { self >> UInt64(bit) & 1 == 1 }
}
