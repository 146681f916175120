import ConcurrencySupport
import Control
import Glibc
import Logging
import Testing
import WireProtocol

@testable import CoordinatorDaemon

@Suite("The formats of the daemon's log")
struct StructuredLogHandlerTests {
    private func logged(_ format: StructuredLogHandler.Format, _ body: (Logger) -> Void) -> [String] {
        let sink = Sink()
        body(
            Logger(label: "test") { label in
                StructuredLogHandler(label: label, format: format) { bytes in
                    sink.append(String(decoding: bytes, as: UTF8.self))
                }
            }
        )
        return sink.lines
    }

    private final class Sink: Sendable {
        private let value = Lock<[String]>([])

        func append(_ line: String) { value.withLock { $0.append(line) } }
        var lines: [String] { value.withLock { $0 } }
    }

    @Test("JSON has one line whatever the message contains")
    func json() throws {
        let lines = logged(.json) {
            $0.warning("two\nlines \"quoted\"", metadata: ["a": "b\u{1B}", "list": ["x", "y"], "n": .stringConvertible(3)])
        }
        #expect(lines.count == 1 && lines[0].count { $0 == "\n" } == 1)
        let entry = try ControlJSON.parse(Array(lines[0].utf8))
        #expect(entry["message"] == "two\nlines \"quoted\"" && entry["level"] == "warning" && entry["label"] == "test")
        #expect(entry["metadata"] == ["a": "b\u{1B}", "list": ["x", "y"], "n": 3])
    }

    @Test("The journal gets priorities, and one entry for a message of several lines")
    func journal() {
        let lines = logged(.journal) {
            $0.error("bad\nthing", metadata: ["b": "2", "a": "1"])
            $0.notice("fine")
        }
        #expect(lines == ["<3>test: bad thing a=1 b=2\n", "<5>test: fine\n"])
    }

    @Test(
        "Nothing in a line can drive a terminal or change the direction of its text",
        arguments: [StructuredLogHandler.Format.human, .journal]
    )
    func printable(_ format: StructuredLogHandler.Format) {
        let lines = logged(format) { $0.warning("a\u{1B}[2Jb", metadata: ["c": "d\u{202E}e\u{7}"]) }
        #expect(lines.count == 1 && lines[0].hasSuffix("test: a\\u{1B}[2Jb c=d\\u{202E}e\\u{07}\n"), "\(lines)")
    }

    @Test("For people the message comes first, on one line")
    func human() {
        let lines = logged(.human) { $0.warning("/a crashed:\nbadly", metadata: ["b": "2", "a": "1"]) }
        #expect(lines.count == 1 && lines[0].dropFirst(Timestamp.length) == " warning test: /a crashed: badly a=1 b=2\n")
    }

    @Test("What ends the daemon before it has a log is in the format of its log")
    func problems() throws {
        #expect(LogFormat.human.lines(of: "f:1:2: bad") == "f:1:2: bad\n")
        let lines = LogFormat.json.lines(of: "f:1:2: bad\nf:3:4: worse").split(separator: "\n")
        #expect(try lines.map { try ControlJSON.parse(Array($0.utf8))["message"] } == ["f:1:2: bad", "f:3:4: worse"])
    }

    @Test("A stream is the journal's when JOURNAL_STREAM names it")
    func detection() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        var status = stat()
        try #require(fstat(ends[1], &status) == 0)
        #expect(Journal.isBehind(ends[1], "\(status.st_dev):\(status.st_ino)"))
        #expect(!Journal.isBehind(ends[1], "\(status.st_dev):\(status.st_ino + 1)"))
        #expect(!Journal.isBehind(ends[1], nil))
    }

    @Test("To the journal a child's line has the child's priority")
    func child() {
        let output = DaemonOutput(descriptor: -1, isJournal: true)
        var bytes: [UInt8] = []
        for text in ["<4>careful", "plain"] { output.append(Array(text.utf8)[...], LogEntry.Header(time: []), path: "/a", to: &bytes) }
        #expect(String(decoding: bytes, as: UTF8.self) == "<4>[/a] careful\n<6>[/a] plain\n")
    }
}
