import ConcurrencySupport
import Coordinators
import DaemonConfiguration
import Logging
import Processes
import TestSupport
import Testing

@testable import CoordinatorDaemon

@Suite("What a scheduler follows, and notes for the next one", .timeLimit(minutes: 1))
struct SchedulerTests {
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    @Test("The file of schedules: a run that waits has a line of its own, which a file of a former version hasn't")
    func file() throws {
        let file = ScheduleFile(path: temporary.file("schedules"))
        #expect(try file.entries().isEmpty)
        let former = "1700000000\t-\t0 4 * * *\t/a\n1700000001\tUTC\t@daily\t/b\n"
        var entries = [
            "/a": ScheduleFile.Entry(done: 1_700_000_000, times: "-\t0 4 * * *"),
            "/b": ScheduleFile.Entry(done: 1_700_000_001, times: "UTC\t@daily"),
        ]
        #expect(ScheduleFile.entries(in: former) == entries)
        entries["/a"]?.isQueued = true
        try file.replace(by: entries)
        #expect(try file.entries() == entries)
        // A former version reads each line whose first field is a number.
        #expect(Files.text(of: file.path)?.replacing("queued\t/a\n", with: "") == former)
        #expect(ScheduleFile.entries(in: "queued\t/c\n" + former).keys.sorted() == ["/a", "/b"])
    }

    /// What happens to a zone.
    enum Renewal: CaseIterable {
        case inTime, afterFailure, byConfiguration
    }

    @Test("A time zone is read again now and then, and with each change of the configuration", arguments: Renewal.allCases)
    func renewedZone(_ renewal: Renewal) async throws {
        let hour: Int64 = 3600
        let intervals: (Int64, Int64) =
            switch renewal {
            case .inTime: (1, hour)
            case .afterFailure: (hour, 1)
            case .byConfiguration: (hour, hour)
            }
        let (rules, log) = (SharedZone(), Transcript())
        rules.isReadable = renewal != .afterFailure
        try await run(rules, intervals, log) { scheduler in
            try await eventually("it's followed") { Self.hour(scheduler) == (renewal == .afterFailure ? 3 : 2) }
            (rules.hours, rules.isReadable) = (5, true)
            if renewal == .byConfiguration { scheduler.configurationChanged() }
            try await eventually("the other rules hold") { Self.hour(scheduler) == 22 }
        }
        #expect(log.text.contains("UTC is taken instead") == (renewal == .afterFailure), "\(log.text)")
        #expect(log.text.contains("a time zone can be read again") == (renewal == .afterFailure), "\(log.text)")
    }

    @Test("A zone that can't be read again keeps its rules, which is told once, and so is its end")
    func unreadableZone() async throws {
        let (rules, log) = (SharedZone(), Transcript())
        try await run(rules, (1, 1), log) { scheduler in
            try await eventually("it's followed") { Self.hour(scheduler) == 2 }
            rules.isReadable = false
            let former = rules.tries
            try await eventually("it's tried again") { rules.tries >= former + 3 }
            #expect(Self.hour(scheduler) == 2)
            (rules.hours, rules.isReadable) = (7, true)
            try await eventually("the other rules hold") { Self.hour(scheduler) == 20 }
        }
        #expect(log.text.ranges(of: "its former rules hold").count == 1, "\(log.text)")
        #expect(log.text.ranges(of: "a time zone can be read again").count == 1, "\(log.text)")
    }

    /// Runs a scheduler of a child that runs at three o'clock of a zone.
    private func run(
        _ zone: SharedZone,
        _ intervals: (usual: Int64, failure: Int64),
        _ log: Transcript,
        _ body: (Scheduler) async throws -> Void
    ) async throws {
        let text = #"children: [{ name: a, program: { command: [cat] }, schedule: { cron: "0 3 * * *", time_zone: Etc/Some } }]"#
        let configuration = try DaemonConfiguration.parse(text: text, file: "f")
        let source = Scheduler.ZoneSource(
            load: { _ throws(ZoneRules.Problem) in try zone.load() },
            interval: intervals.usual,
            pause: intervals.failure
        )
        let scheduler = Scheduler(
            ConfiguredChildren(configuration.children, configuration.supervision),
            EventLog(),
            Logger(label: "test") { StructuredLogHandler(label: $0, format: .human) { log.append($0) } },
            file: ScheduleFile(path: temporary.file("schedules")),
            zones: source
        )
        let running = Task { await scheduler.run() }
        defer { running.cancel() }
        try await body(scheduler)
        running.cancel()
        await running.value
    }

    /// The hour of the next time by the clock of UTC.
    private static func hour(_ scheduler: Scheduler) -> Int64? {
        // The second may end between the two looks at the clock.
        scheduler.untilNext["/a"].map { (WallTimers.now + $0 / 1000 + 30) / 3600 % 24 }
    }
}

/// A zone that is some hours ahead of UTC, and that a test changes.
private final class SharedZone: Sendable {
    private struct State {
        var hours: UInt8 = 1
        var isReadable = true
        var tries = 0
    }

    private let state = Lock(State())

    var hours: UInt8 {
        get { state.withLock { $0.hours } }
        set { state.withLock { $0.hours = newValue } }
    }
    var isReadable: Bool {
        get { state.withLock { $0.isReadable } }
        set { state.withLock { $0.isReadable = newValue } }
    }
    /// The number of times that it was read, with success or without.
    var tries: Int { state.withLock { $0.tries } }

    func load() throws(ZoneRules.Problem) -> ZoneRules {
        let (hours, isReadable) = state.withLock { state in
            state.tries += 1
            return (state.hours, state.isReadable)
        }
        guard isReadable else { return try ZoneRules(file: []) }
        let seconds = Int(hours) * 3600
        // A file of the first version, with one offset: https://www.rfc-editor.org/rfc/rfc9636
        var bytes = Array("TZif".utf8) + [UInt8](repeating: 0, count: 16)
        for count: UInt8 in [0, 0, 0, 0, 1, 1] { bytes += [0, 0, 0, count] }
        bytes += [0, 0, UInt8(seconds >> 8), UInt8(seconds & 0xFF), 0, 0, 0]
        return try ZoneRules(file: bytes)
    }
}
