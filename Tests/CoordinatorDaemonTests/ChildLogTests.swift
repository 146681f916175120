import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Glibc
import Logging
import TestSupport
import Testing
import WireProtocol

@testable import CoordinatorDaemon

@Suite("Children's logs", .timeLimit(minutes: 3))
struct ChildLogTests {
    private let temporary: TemporaryDirectory
    private let output = DaemonOutput(descriptor: open("/dev/null", O_WRONLY | O_CLOEXEC))
    private var file: String { "\(temporary.path)/logs/a.log" }

    init() throws { temporary = try TemporaryDirectory() }

    private func log(_ settings: ChildLog.Settings, calm: Duration = .seconds(5), entries: Transcript? = nil) -> ChildLog {
        let logger = Logger(label: "test") { StructuredLogHandler(label: $0, format: .human) { entries?.append($0) } }
        return ChildLog(path: "/a", settings, daemon: output, logger: logger, calm: calm) {}
    }

    private func settings(_ format: LoggingConfiguration.Format = .lines, maximumSize: Int64 = 0, keep: Int = 5) -> ChildLog.Settings {
        ChildLog.Settings(file: file, format: format, maximumSize: maximumSize, keep: keep, daemonCopy: .none)
    }

    private func origin(_ life: UInt32 = 1, pid: Int32 = 7, isError: Bool = false) -> OutputOrigin {
        let origin = OutputOrigin("/a", life, isError: isError)
        origin.began(as: pid)
        return origin
    }

    private func lines(_ keep: Int = 5) -> [LogLine] {
        var cursor = LogCursor(path: "/a", file: file, keep: keep)
        defer { cursor.close() }
        var lines: [LogLine] = []
        while case .entry(let entry, let time)? = cursor.next() { lines.append(LogEntry.line(entry, path: "/a", formerTime: time)) }
        return lines
    }

    @Test(
        "Lines of any division come whole, with their life and process; a long one is broken and marked",
        arguments: LoggingConfiguration.Format.allCases.filter { $0 != .raw }
    )
    func framing(_ format: LoggingConfiguration.Format) async throws {
        let log = log(settings(format))
        let first = origin()
        let long = String(repeating: "l", count: LogLines.limit + 10)
        for piece in ["one\ntw", "o\n\n<3>bad \"quoted\"\t\\\n", long, "\nlast"] { log.received(Array(piece.utf8), from: first) }
        log.received([], from: first)
        let next = origin(2, pid: 8)
        log.received(Array("next life\n".utf8), from: next)
        log.received([0xFF, 0x0A], from: next)
        await log.flush()
        let lines = lines()
        let part = String(repeating: "l", count: LogLines.limit)
        #expect(
            lines.map(\.line) == ["one", "two", "", "bad \"quoted\"\t\\", part, "llllllllll", "last", "next life", "\u{FFFD}"]
        )
        #expect(lines.map(\.partial) == [nil, nil, nil, nil, true, nil, nil, nil, nil])
        #expect(lines[3].priority == 3)
        #expect(lines[0].pid == 7 && lines[0].incarnation == 1 && lines[7].pid == 8 && lines[7].incarnation == 2)
        #expect(lines.allSatisfy { $0.time.utf8.count == Timestamp.length && $0.path == "/a" })
        #expect(Files.mode(of: file) == 0o600)
        #expect(Files.mode(of: "\(temporary.path)/logs") == 0o700)
    }

    @Test("The two streams aren't mixed within a line")
    func streams() async throws {
        let log = log(settings())
        let (out, errors) = (origin(), origin(isError: true))
        for (text, origin) in [("ou", out), ("er", errors), ("t\n", out), ("r\n", errors)] { log.received(Array(text.utf8), from: origin) }
        await log.flush()
        #expect(lines().map { "\($0.stream) \($0.line)" } == ["stdout out", "stderr err"])
    }

    @Test("A file is rotated by its size, and the number of former ones is kept; no line is lost before that")
    func rotation() async throws {
        let log = log(settings(maximumSize: 2000, keep: 3))
        for number in 0..<200 {
            log.received(Array("line \(number)\n".utf8), from: origin())
            await log.flush()
        }
        #expect(Files.names(in: "\(temporary.path)/logs") == ["a.log", "a.log.1", "a.log.2", "a.log.3"])
        for name in Files.names(in: "\(temporary.path)/logs") {
            #expect(try #require(Files.bytes(of: "\(temporary.path)/logs/\(name)")).count <= 2000)
        }
        let numbers = lines(3).compactMap { Int($0.line.dropFirst(5)) }
        #expect(numbers == Array((200 - numbers.count)..<200))
        #expect(numbers.count > 80)
    }

    @Test("Former files beyond those that are kept are removed: those of a former daemon, and when fewer are kept from now on")
    func fewerFormerFiles() async throws {
        let directory = "\(temporary.path)/logs"
        mkdir(directory, 0o700)
        for name in ["a.log"] + (1...5).map({ "a.log.\($0)" }) { try Files.write("\(name)\n", to: "\(directory)/\(name)") }
        let log = log(settings(keep: 4))
        for keep in [4, 1, 0] {
            log.settings = settings(keep: keep)
            log.received(Array("keeps \(keep)\n".utf8), from: origin())
            await log.flush()
            #expect(Files.names(in: directory) == ["a.log"] + (0..<keep).map { "a.log.\($0 + 1)" })
        }
        #expect(lines(0).map(\.line) == ["a.log", "keeps 4", "keeps 1", "keeps 0"])
    }

    @Test("Lines that come at once are divided among files by their size, the first file too")
    func burst() async throws {
        let log = log(settings(maximumSize: 2000, keep: 99))
        log.received(Array((0..<500).map { "line \($0)\n" }.joined().utf8), from: origin())
        await log.flush()
        let names = Files.names(in: "\(temporary.path)/logs")
        #expect(names.count > 10)
        for name in names { #expect(try #require(Files.bytes(of: "\(temporary.path)/logs/\(name)")).count <= 2000, "\(name)") }
        #expect(lines(names.count).compactMap { Int($0.line.dropFirst(5)) } == Array(0..<500))
    }

    @Test("A file that another program has renamed, removed or shortened is noticed; a former daemon's half line is ended")
    func outside() async throws {
        try Files.write("", to: "\(temporary.path)/x")
        mkdir("\(temporary.path)/logs", 0o700)
        try Files.write("half", to: file)
        let log = log(settings())
        func write(_ text: String) async {
            log.received(Array("\(text)\n".utf8), from: origin())
            await log.flush()
        }
        await write("first")
        #expect(lines().map(\.line) == ["half", "first"])
        #expect(rename(file, "\(file).old") == 0)
        await write("second")
        #expect(lines().map(\.line) == ["second"])
        unlink(file)
        await write("third")
        #expect(lines().map(\.line) == ["third"])
        #expect(truncate(file, 0) == 0)
        await write("fourth")
        #expect(lines().map(\.line) == ["fourth"])
    }

    @Test("A file that can't be written: nothing waits, and the file says how much is missing once it can")
    func failing() async throws {
        try Files.write("", to: "\(temporary.path)/logs")
        let log = log(settings())
        for number in 0..<50 { log.received(Array("lost \(number)\n".utf8), from: origin()) }
        await log.flush()
        unlink("\(temporary.path)/logs")
        try await eventually("the gap is written without further output") { lines().contains { $0.gap != nil } }
        log.received(Array("kept\n".utf8), from: origin())
        await log.flush()
        let (gap, kept) = (lines().first, lines().last)
        #expect(gap?.gap?.lines == 50)
        #expect(gap?.gap?.reason == "Not a directory")
        #expect(kept?.line == "kept")
        #expect(lines().count == 2)
    }

    @Test("A file that can be written for a moment, again and again, is one trouble: told once, and its end once")
    func flapping() async throws {
        let directory = "\(temporary.path)/logs"
        for (calm, ends) in [(Duration.seconds(600), 0), (.milliseconds(1), 1)] {
            let entries = Transcript()
            let log = log(settings(), calm: calm, entries: entries)
            let rounds = ends == 0 ? 3 : 1
            for _ in 0..<rounds {
                Files.remove(directory)
                try Files.write("", to: directory)
                log.received(Array("lost\n".utf8), from: origin())
                await log.flush()
                unlink(directory)
                try await eventually("the gap is written") { lines().contains { $0.gap != nil } }
            }
            try await eventually("its end is told") { entries.text.ranges(of: "can be written again").count == ends }
            #expect(entries.text.ranges(of: "a child's log can't be written").count == 1)
            if ends > 0 { #expect(entries.text.contains(" failures=1 ")) }
        }
    }

    @Test("A reader follows over rotations without a loss, while lines are written")
    func following() async throws {
        let log = log(settings(maximumSize: 20_000, keep: 50))
        let writing = Task.detached { [self] in
            let origin = origin()
            for number in 0..<5000 {
                log.received(Array("line \(number)\n".utf8), from: origin)
                if number % 100 == 0 { await log.flush() }
            }
            await log.flush()
        }
        var cursor = LogCursor(path: "/a", file: file, keep: 50)
        defer { cursor.close() }
        var numbers: [Int] = []
        try await eventually("all lines are read", within: .seconds(60)) {
            while let next = cursor.next() {
                if case .entry(let entry, let time) = next {
                    numbers.append(Int(LogEntry.line(entry, path: "/a", formerTime: time).line.dropFirst(5)) ?? -1)
                }
            }
            return numbers.count >= 5000
        }
        await writing.value
        #expect(numbers == Array(0..<5000))
    }

    @Test("Several logs are merged by time, the last lines are counted over all, and a pattern chooses")
    func merged() async throws {
        mkdir("\(temporary.path)/logs", 0o700)
        for (name, offset) in [("a", 0), ("b", 1)] {
            let text = (0..<100).map { number in
                "\(Timestamp.text(microseconds: Int64(number * 2 + offset) * 1_000_000)) stdout F:1:1 \(name)\(number)\n"
            }.joined()
            try Files.write(text, to: "\(temporary.path)/logs/\(name).log")
        }
        let places = ["a", "b"].map { ChildLogs.Place(path: "/\($0)", file: "\(temporary.path)/logs/\($0).log", keep: 5) }
        func read(_ query: LogQuery) throws -> [String] {
            var reading = try LogReading(places, query)
            defer { reading.close() }
            var lines: [String] = []
            while case let page = try reading.page(), !page.isEmpty { lines += page.compactMap { $0["line"]?.stringValue } }
            return lines
        }
        #expect(try read(LogQuery(paths: ["/"])) == (0..<100).flatMap { ["a\($0)", "b\($0)"] })
        #expect(try read(LogQuery(paths: ["/"], lines: 3)) == ["b98", "a99", "b99"])
        #expect(try read(LogQuery(paths: ["/"], lines: 2, pattern: "^a[0-4]?7$")) == ["a37", "a47"])
        #expect(try read(LogQuery(paths: ["/"], sinceMilliseconds: 198_000)) == ["a99", "b99"])
        for pattern in ["(", "(a)\\1", "a{100}", "((a{9}){9}){9}"] {
            #expect(throws: ControlError.self) { try read(LogQuery(paths: ["/"], pattern: pattern)) }
        }
    }

    /// Returns the lines of a reading, from its next page on.
    private func rest(of reading: inout LogReading) throws -> [String] {
        var lines: [String] = []
        while case let page = try reading.page(), !page.isEmpty { lines += page.compactMap { $0["line"]?.stringValue } }
        return lines
    }

    @Test("Every line that was there is shown, whatever its time: the clock was set back")
    func clockSetBack() throws {
        mkdir("\(temporary.path)/logs", 0o700)
        let years = [2025, 2026, 2999, 2027, 2998, 2028]
        try Files.write(years.map { "\($0)-01-01T00:00:00.000000Z stdout F:1:1 of \($0)\n" }.joined(), to: file)
        let place = ChildLogs.Place(path: "/a", file: file, keep: 5)
        for (count, follows) in [(nil, false), (3, false), (3, true), (0, false)] as [(Int?, Bool)] {
            var reading = try LogReading([place], LogQuery(paths: ["/a"], lines: count, follows: follows))
            defer { reading.close() }
            let lines = try rest(of: &reading)
            #expect(lines == years.suffix(count ?? years.count).map { "of \($0)" }, "\(String(describing: count)), \(follows)")
        }
    }

    @Test("A reading ends with what was there at its beginning, however fast a child writes, over rotations too", arguments: [false, true])
    func bounded(isRotated: Bool) throws {
        let directory = "\(temporary.path)/logs"
        mkdir(directory, 0o700)
        // More than is read at a time; what is written meanwhile has times that have passed too.
        func text(_ numbers: Range<Int>) -> String {
            numbers.map { "2001-01-01T00:00:00.000000Z stdout F:1:1 line \($0) \(String(repeating: ".", count: 200))\n" }.joined()
        }
        func append(_ text: String) throws { try Files.write((Files.text(of: file) ?? "") + text, to: file) }
        try Files.write(text(0..<1000), to: "\(file).1")
        try Files.write(text(1000..<2000), to: file)
        let place = ChildLogs.Place(path: "/a", file: file, keep: 5)
        var reading = try LogReading([place], LogQuery(paths: ["/a"]))
        defer { reading.close() }
        var numbers: [Int] = []
        while case let page = try reading.page(), !page.isEmpty {
            numbers += page.compactMap { $0["line"]?.stringValue?.split(separator: " ")[1] }.compactMap { Int($0) }
            try #require(numbers.count <= 2000, "it doesn't end")
            try append(text(numbers.count..<numbers.count + 1000))
            guard isRotated, numbers.count > 500, !Files.names(in: directory).contains("a.log.2") else { continue }
            #expect(rename("\(file).1", "\(file).2") == 0 && rename(file, "\(file).1") == 0)
        }
        #expect(numbers == Array(0..<2000))
        // Nothing was there.
        for name in Files.names(in: directory) { unlink("\(directory)/\(name)") }
        var empty = try LogReading([place], LogQuery(paths: ["/a"]))
        defer { empty.close() }
        try append(text(0..<10))
        let page = try empty.page()
        #expect(page.isEmpty)
    }

    @Test("While no thread can be made, output waits and is counted; then it's written, without further output")
    func withoutThreads() async throws {
        let areShort = Lock(true)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let log = ChildLog(
            path: "/a",
            settings(),
            daemon: output,
            logger: logger,
            written: {},
            threads: { body in !areShort.withLock { $0 } && DetachedThread.run(body) }
        )
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_535) + [0x0A]
        let origin = origin()
        for _ in 0..<40 { log.received(piece, from: origin) }
        #expect(log.isFull && Files.names(in: temporary.path).isEmpty)
        areShort.withLock { $0 = false }
        try await eventually("the gap is written") { lines().contains { $0.gap != nil } }
        await log.flush()
        #expect(!log.isFull && stored() + dropped() == 40 * piece.count)
    }

    @Test("More at once than is kept is counted when nothing else is written, and what comes after it is written")
    func tooMuchAtOnce() async throws {
        let log = log(settings())
        let origin = origin()
        log.received([UInt8](repeating: UInt8(ascii: "x"), count: 3 << 20), from: origin)
        await log.flush()
        log.received(Array("next\n".utf8), from: origin)
        await log.flush()
        #expect(dropped() == 3 << 20 && lines().last?.line == "next")
    }

    /// The number of bytes of the lines in the file, and of those that were dropped.
    private func stored() -> Int { lines().reduce(0) { $0 + $1.line.utf8.count + ($1.partial == true || $1.gap != nil ? 0 : 1) } }
    private func dropped() -> Int { lines().reduce(0) { $0 + Int($1.gap?.bytes ?? 0) } }

    @Test("Output that comes faster than it can be stored is counted, and no more of it is kept than the limit")
    func flood() async throws {
        let log = log(settings())
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_535) + [0x0A]
        let origin = origin()
        for _ in 0..<2000 { log.received(piece, from: origin) }
        await log.flush()
        // The drop, if there was one, is behind what was taken.
        #expect(stored() + dropped() == 2000 * piece.count)
    }
}
