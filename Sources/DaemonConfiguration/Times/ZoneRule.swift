/// The rule by which a zone's offset changes each year, in the form of the variable TZ: `CET-1CEST,M3.5.0,M10.5.0/3`.
///
/// https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html#tag_08_03, with hours from -167 to 167
struct ZoneRule: Sendable, Hashable {
    /// A day of each year.
    private enum Day: Hashable {
        /// The day from 1 to 365; February 29 isn't counted.
        case julian(Int)
        /// The day from 0 to 365.
        case ofYear(Int)
        /// The fifth of a month's weeks is the last.
        case ofWeek(month: Int, week: Int, weekday: Int)
    }

    private struct Change: Hashable {
        let day: Day
        /// The seconds since midnight, by the clock as it is before the change.
        let time: Int
    }

    private let standard: Int
    private var summer: (offset: Int, begin: Change, end: Change)?

    static func == (left: ZoneRule, right: ZoneRule) -> Bool {
        left.standard == right.standard && left.summer?.offset == right.summer?.offset && left.summer?.begin == right.summer?.begin
            && left.summer?.end == right.summer?.end
    }

    func hash(into hasher: inout Hasher) { hasher.combine(standard) }

    init(_ text: [UInt8]) throws(ZoneRules.Problem) {
        var reader = RuleReader(text)
        try reader.name()
        standard = try ZoneRules.checked(-reader.time())
        if reader.isAtEnd { return }
        try reader.name()
        // Without an offset it's an hour.
        let offset = try reader.next(is: ",") ? standard + 3600 : ZoneRules.checked(-reader.time())
        try reader.expect(",")
        let begin = try Self.change(&reader)
        try reader.expect(",")
        let end = try Self.change(&reader)
        guard reader.isAtEnd else { throw reader.problem }
        summer = (offset, begin, end)
    }

    private static func change(_ reader: inout RuleReader) throws(ZoneRules.Problem) -> Change {
        let day: Day
        if reader.next(is: "M") {
            try reader.expect("M")
            let month = try reader.number(1...12)
            try reader.expect(".")
            let week = try reader.number(1...5)
            try reader.expect(".")
            day = .ofWeek(month: month, week: week, weekday: try reader.number(0...6))
        } else if reader.next(is: "J") {
            try reader.expect("J")
            day = .julian(try reader.number(1...365))
        } else {
            day = .ofYear(try reader.number(0...365))
        }
        guard reader.next(is: "/") else { return Change(day: day, time: 7200) }
        try reader.expect("/")
        return Change(day: day, time: try reader.time())
    }

    func offset(at time: Int64) -> Int {
        guard let summer else { return standard }
        // The year by the standard clock; a change is days away from its beginning, or that of the next one is as of the last.
        let bounded = min(max(time, -(1 << 50)), 1 << 50)
        let year = CivilDate.year(ofDay: Int((bounded + Int64(standard)).flooredQuotient(86_400)))
        var latest: (time: Int64, offset: Int)?
        for year in (year - 1)...(year + 1) {
            for (change, before, after) in [(summer.begin, standard, summer.offset), (summer.end, summer.offset, standard)] {
                let moment = Int64(Self.day(change.day, of: year)) * 86_400 + Int64(change.time - before)
                // Of an end and a beginning at the same time, as in a zone whose summer is the whole year, the beginning holds.
                let isLater = latest.map { moment > $0.time || moment == $0.time && after == summer.offset } ?? true
                if moment <= bounded, isLater { latest = (moment, after) }
            }
        }
        return latest?.offset ?? standard
    }

    /// Returns a day in days since 1970.
    private static func day(_ day: Day, of year: Int) -> Int {
        let first = CivilDate.day(ofYear: year)
        switch day {
        case .ofYear(let number): return first + number
        case .julian(let number): return first + number - 1 + (CivilDate.isLeap(year) && number >= 60 ? 1 : 0)
        case .ofWeek(let month, let week, let weekday):
            let lengths = [31, CivilDate.isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            let start = first + lengths[..<(month - 1)].reduce(0, +)
            let date = (weekday - (start + 4).flooredRemainder(7)).flooredRemainder(7) + (week - 1) * 7
            return start + (date < lengths[month - 1] ? date : date - 7)
        }
    }
}

private struct RuleReader {
    private let text: [UInt8]
    private var rest: ArraySlice<UInt8>

    init(_ text: [UInt8]) { (self.text, rest) = (text, text[...]) }

    var isAtEnd: Bool { rest.isEmpty }
    var problem: ZoneRules.Problem { ZoneRules.Problem("its last line is no rule: \(String(decoding: text.prefix(64), as: UTF8.self))") }

    func next(is character: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: character) }

    mutating func expect(_ character: Unicode.Scalar) throws(ZoneRules.Problem) {
        guard next(is: character) else { throw problem }
        rest.removeFirst()
    }

    /// Skips the name of a time: letters, or anything between angle brackets.
    mutating func name() throws(ZoneRules.Problem) {
        if next(is: "<") {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { throw problem }
            rest = rest[(end + 1)...]
            return
        }
        let letters = rest.prefix { (0x41...0x5A).contains($0 & ~0x20) }
        guard letters.count >= 3 else { throw problem }
        rest = rest.dropFirst(letters.count)
    }

    mutating func number(_ range: ClosedRange<Int>) throws(ZoneRules.Problem) -> Int {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard (1...3).contains(digits.count), let number = Int(String(decoding: digits, as: UTF8.self)), range.contains(number) else {
            throw problem
        }
        rest = rest.dropFirst(digits.count)
        return number
    }

    /// Reads hours, minutes and seconds, as seconds.
    mutating func time() throws(ZoneRules.Problem) -> Int {
        var sign = 1
        if next(is: "-") || next(is: "+") {
            sign = next(is: "-") ? -1 : 1
            rest.removeFirst()
        }
        var seconds = try number(0...167) * 3600
        for unit in [60, 1] where next(is: ":") {
            try expect(":")
            seconds += try number(0...59) * unit
        }
        return sign * seconds
    }
}
