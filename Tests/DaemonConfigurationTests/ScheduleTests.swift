import FoundationEssentials
import Glibc
import Supervision
import TestSupport
import Testing

@testable import DaemonConfiguration

@Suite("Times of a calendar")
struct ScheduleTests {
    private static let python = BuiltProgram(path: "/usr/bin/python3")
    private static let canAsk = access("/usr/bin/python3", X_OK) == 0 && access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0

    /// Zones with changes of an hour and of half of one, at midnight and at other times, in both hemispheres, with a day that was left out, and
    /// with a rule that has the winter as the exception.
    private static let zones = [
        "UTC", "Europe/Berlin", "America/St_Johns", "America/Santiago", "America/Havana", "Australia/Lord_Howe", "Africa/Casablanca",
        "Asia/Kathmandu", "Pacific/Apia", "Europe/Dublin",
    ]

    @Test(
        "Each zone has the offsets that Python knows, before its first change and long after its last",
        .enabled(if: canAsk),
        arguments: zones
    )
    func offsets(zone: String) async throws {
        let rules = try ZoneRules.load(zone)
        let pairs: [[Int64]] = try await answer(["offsets", zone])
        #expect(pairs.count > 300)
        let wrong = pairs.first { Int64(rules.offset(at: $0[0])) != $0[1] }
        #expect(wrong == nil, "\(wrong ?? []): \(rules.offset(at: wrong?[0] ?? 0))")
    }

    @Test(
        "The times of a year are those that Python computes, with what the clock leaves out and shows twice",
        .enabled(if: canAsk),
        arguments: zones
    )
    func times(zone: String) async throws {
        let expressions = [
            "30 2 * * *", "0 0 * 3,4,9-11 *", "15,45 1-2 * 3,4,9-11 *", "0 */6 * 3,10 0", "0 0 13 * 5", "0 12 */2 * 1-5/2", "59 23 31 * *",
            "0 3 29 2 *",
            "*/20 * 25-31 3,10 *",
        ]
        let (years, rules) = (Self.years[zone] ?? [2038], try ZoneRules.load(zone))
        let expected: [[Int64]] = try await answer(["times", zone, years.map { "\($0)" }.joined(separator: ",")] + expressions)
        for (text, expected) in zip(expressions, expected) {
            let expression = try CronExpression(text)
            for year in years {
                let (begin, end) = (Int64(CivilDate.day(ofYear: year)) * 86_400, Int64(CivilDate.day(ofYear: year + 1)) * 86_400)
                // A year begins by the zone's clock, and the oracle counts by that.
                let within = { (time: Int64) in time > begin + 86_400 && time < end - 86_400 }
                var (found, time) = ([Int64](), begin + 86_400)
                while let next = expression.next(after: time, in: rules), within(next) {
                    found.append(next)
                    time = next
                }
                #expect(found == expected.filter(within), "\(text) in \(year)")
            }
        }
    }

    /// The years with the most to say; of the other zones one that follows from their rules.
    private static let years = ["Pacific/Apia": [2011], "Africa/Casablanca": [2012], "Europe/Berlin": [2012, 2038]]

    private func answer<Answer: Decodable>(_ arguments: [String]) async throws -> Answer {
        let script = "\(Files.packageRoot)/Tests/CronOracle/cron_oracle.py"
        let ended = try await Self.python.run([script] + arguments)
        #expect(ended.exitCode == 0, "\(ended.errors)")
        return try JSONDecoder().decode(Answer.self, from: Data(ended.output.utf8))
    }

    @Test(
        "Other forms of the same times",
        arguments: [
            ("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@weekly", "0 0 * * 0"),
            ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 1 *"), ("0 0 * * 7", "0 0 * * 0"),
            ("0 0 * JAN,Mar-may mon-Fri", "0 0 * 1,3,4,5 1,2,3,4,5"), ("0 0 * * fri-sun", "0 0 * * 0,5,6"),
            ("*/15 0-23/6 * * *", "0,15,30,45 0,6,12,18 * * *"),
            ("  0\t0   * * *  ", "0 0 * * *"), ("0 0 1-31/10 * *", "0 0 1,11,21,31 * *"),
        ]
    )
    func forms(text: String, same: String) throws {
        var time: Int64 = 1_700_000_000
        let (one, other) = (try CronExpression(text), try CronExpression(same))
        for _ in 0..<20 {
            let next = one.next(after: time, in: .utc)
            #expect(next == other.next(after: time, in: .utc))
            time = next ?? time
        }
    }

    @Test(
        "What is no time is refused where it stands",
        arguments: [
            ("0 0 31 2 *", "no year has such a day"), ("0 0 30,31 2 *", "no year has such a day"),
            ("0 0 31 4,6,9,11 *", "no year has such a day"),
            ("60 * * * *", "`60` is no minute; expected `*`, 0 to 59, a range or a list of these"), ("* 24 * * *", "`24` is no hour"),
            ("* * 0 * *", "`0` is no day of the month"), ("* * * 13 *", "`13` is no month"), ("* * * * 8", "`8` is no day of the week"),
            ("* * * foo *", "or a name such as `jan`"), ("5-1 * * * *", "ends before it begins"), ("5/10 * * * *", "expected `5-59/10`"),
            ("*/0 * * * *", "the step of `*/0`, for the minute, is none; expected 1 to 59"), ("1,,2 * * * *", "`` is no minute"),
            ("* * * *", "it has 4 fields; expected five"), ("* * * * * *", "it has 6 fields"), ("@reboot", "there is no `@reboot`"),
            ("+1 * * * *", "`+1` is no minute"), ("1-2-3 * * * *", "is no minute"), ("*/2/3 * * * *", "is no minute"),
            ("'*'* * * * *", "is no minute"),
        ]
    )
    func refused(text: String, problem: String) throws {
        let file = "children:\n  - name: a\n    program: { command: [cat] }\n    schedule:\n      cron: \"\(text)\"\n"
        let error = #expect(throws: ConfigurationError.self) { try DaemonConfiguration.parse(text: file, file: "f") }
        #expect(error?.description.contains("f:5:13: `cron` is `\(text)`: ") == true, "\(error?.description ?? "")")
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }

    @Test("Zones that the machine doesn't know, and children that can't have times, are refused")
    func refusedKeys() throws {
        let cron = "cron: \"@daily\""
        for (child, problem) in [
            (
                "program: { command: [cat] }, schedule: { \(cron), time_zone: Europe/Belrin }",
                "this machine knows no time zone `Europe/Belrin`"
            ),
            ("program: { command: [cat] }, schedule: { \(cron), time_zone: ../../etc/passwd }", "is no name of a time zone"),
            ("program: { command: [cat] }, schedule: { time_zone: UTC }", "`schedule` has no `cron`"),
            ("program: { command: [cat] }, schedule: { \(cron) }, restart: always", "such a child never ends by itself"),
            (
                "worker: { executable: /bin/cat, coordinator: A }, schedule: { \(cron) }",
                "a worker goes on, and its coordinators have timers"
            ),
            ("children: [], schedule: { \(cron) }", "a group has no end of its own"),
            ("program: { command: [cat] }, schedule: { \(cron) }, placement: cluster", "can't be beside `placement`"),
        ] {
            let text = "children: [{ name: a, \(child) }]"
            let error = #expect(throws: ConfigurationError.self) {
                try DaemonConfiguration.parse(text: text, file: "f", checkingFiles: true)
            }
            #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
            #expect(error?.description.contains("f:1:") == true)
        }
        let text = "children: [{ name: a, program: { command: [cat] }, schedule: { \(cron) } }, { name: b, program: { command: [cat] } }]"
        let file = try DaemonConfiguration.parse(text: text, file: "f")
        #expect(file.children.map(\.restart) == [.temporary, .permanent])
        #expect(file.children.startedBySupervisor == ["b"])
        #expect(try JSONDecoder().decode([ConfiguredChild].self, from: JSONEncoder().encode(file.children)) == file.children)
    }

    @Test("A file of a zone that is cut, or has any extreme byte, is read or refused, and what is read can be asked", .enabled(if: canAsk))
    func damaged() throws {
        for zone in ["UTC", "Europe/Berlin", "Africa/Casablanca"] {
            let bytes = try #require(Files.bytes(of: "/usr/share/zoneinfo/\(zone)"))
            #expect(throws: Never.self) { try ZoneRules(file: bytes) }
            func tryOut(_ bytes: [UInt8]) {
                guard let rules = try? ZoneRules(file: bytes) else { return }
                for time in [Int64.min, -1 << 40, 0, 1 << 33, 1 << 50, .max] { _ = rules.offset(at: time) }
                _ = try? CronExpression("30 2 29 2 *").next(after: 1_800_000_000, in: rules)
            }
            let places = bytes.indices.filter { $0 < 50 || $0 > bytes.count - 40 || $0.isMultiple(of: 97) }
            for place in places {
                tryOut(Array(bytes[..<place]))
                for value: UInt8 in [0, 0x7F, 0x80, 0xFF, UInt8(ascii: "9")] {
                    var changed = bytes
                    changed[place] = value
                    tryOut(changed)
                }
            }
        }
        for rule in [
            "", "CET", "CET-1CEST", "CET-1CEST,M13.1.0,M1.1.0", "CET-1CEST,J366,0", "<>-27", "X1", "CET-168", "CET-1CEST,0,1/-168",
            "CET-1CEST,M3.5.0",
        ] {
            #expect((try? ZoneRule(Array(rule.utf8))) == nil || rule == "CET", "\(rule)")
        }
    }

    // MARK: What is done at a time

    private static let day: Int64 = 86_400

    /// A machine of a child that runs at midnight, one second before the midnight after 10 days.
    private func machine(_ overlap: ScheduleSettings.Overlap = .skip, _ missed: ScheduleSettings.Missed = .skip) throws -> ScheduleMachine {
        let settings = ScheduleSettings(cron: try CronExpression("0 0 * * *"), timeZone: "UTC", overlap: overlap, missed: missed)
        return ScheduleMachine(settings, from: 10 * Self.day - 1)
    }

    private struct Look {
        let at: Int64
        var isRunning = false
        var actions: [ScheduleMachine.Action] = []
    }

    @Test("What a look at the clock leads to, by the clock's way and the run's")
    func looks() throws {
        let day = Self.day
        let late = { (count: Int, first: Int64, makesUp: Bool) in
            ScheduleMachine.Action.missed(count: count, first: first, .lateness(isMadeUpFor: makesUp))
        }
        let skipped = { (time: Int64) in ScheduleMachine.Action.missed(count: 1, first: time, .overlap) }
        let stories: [(String, ScheduleMachine, [Look])] = [
            (
                "in time, once", try machine(),
                [Look(at: 10 * day - 1), Look(at: 10 * day, actions: [.start]), Look(at: 10 * day), Look(at: 10 * day + 59)]
            ),
            ("a little late", try machine(), [Look(at: 10 * day + 60, actions: [.start])]),
            ("the machine has slept", try machine(), [Look(at: 10 * day + 61, actions: [late(1, 10 * day, false)])]),
            ("it has slept for days", try machine(), [Look(at: 12 * day + 61, actions: [late(3, 10 * day, false)])]),
            ("it wakes at a time", try machine(), [Look(at: 12 * day, actions: [late(2, 10 * day, false), .start])]),
            (
                "made up for, once", try machine(.skip, .run),
                [Look(at: 12 * day + 61, actions: [late(3, 10 * day, true), .start]), Look(at: 12 * day + 62)]
            ),
            ("made up for by the run of now", try machine(.skip, .run), [Look(at: 11 * day, actions: [late(1, 10 * day, false), .start])]),
            (
                "the former run goes on", try machine(),
                [Look(at: 10 * day, isRunning: true, actions: [skipped(10 * day)]), Look(at: 10 * day + 9)]
            ),
            ("the former run is stopped", try machine(.restart), [Look(at: 10 * day, isRunning: true, actions: [.restart])]),
            (
                "the next one waits, alone", try machine(.queue),
                [
                    Look(at: 10 * day, isRunning: true), Look(at: 11 * day, isRunning: true, actions: [skipped(11 * day)]),
                    Look(at: 11 * day + 5, actions: [.start]), Look(at: 11 * day + 6),
                ]
            ),
            (
                "a time at which the waiting run begins waits for that one", try machine(.queue),
                [
                    Look(at: 10 * day, isRunning: true), Look(at: 11 * day, actions: [.start]), Look(at: 11 * day + 1, isRunning: true),
                    Look(at: 11 * day + 5, actions: [.start]), Look(at: 11 * day + 6),
                ]
            ),
            (
                "a clock that was set back a little runs nothing twice", try machine(),
                [
                    Look(at: 10 * day, actions: [.start]), Look(at: 10 * day - 3600), Look(at: 10 * day),
                    Look(at: 11 * day, actions: [.start]),
                ]
            ),
            (
                "one that was far ahead", try machine(),
                [
                    Look(at: 400 * day, actions: [late(390, 10 * day, false), .start]), Look(at: 10 * day),
                    Look(at: 11 * day, actions: [.start]),
                ]
            ),
        ]
        for (name, machine, looks) in stories {
            var machine = machine
            for look in looks {
                #expect(machine.look(at: look.at, isRunning: look.isRunning, in: .utc) == look.actions, "\(name), at \(look.at)")
            }
        }
        // What a former daemon has left, or other settings have changed, still waits, if it may.
        for overlap in ScheduleSettings.Overlap.allCases {
            var queued = ScheduleMachine(try machine(overlap).settings, from: 10 * day, isQueued: true)
            #expect(queued.look(at: 10 * day + 1, isRunning: true, in: .utc) == [])
            #expect(queued.look(at: 10 * day + 2, isRunning: false, in: .utc) == (overlap == .queue ? [.start] : []), "\(overlap)")
        }
        var decades = try machine()
        guard case .missed(let count, _, _)? = decades.look(at: 1 << 33, isRunning: false, in: .utc).first else {
            return #expect(Bool(false), "nothing was missed")
        }
        #expect(count == ScheduleMachine.longestCount)
        // Of more than are counted, the one that is due now isn't among those that are forgotten.
        var often = ScheduleMachine(ScheduleSettings(cron: try CronExpression("* * * * *")), from: 10 * Self.day)
        let actions = often.look(at: 13 * Self.day, isRunning: false, in: .utc)
        #expect(actions.last == .start && actions.count == 2, "\(actions)")
        #expect(decades.next(in: .utc) == ((1 << 33) / day + 1) * day)
    }
}
