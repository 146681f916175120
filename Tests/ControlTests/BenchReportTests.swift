import Control
import Testing
import WireProtocol

@testable import coordinatorctl

@Suite("The arguments and the report of coordinatorctl bench")
struct BenchReportTests {
    @Test(
        "A payload is JSON, a size, or a field and its size",
        arguments: [
            ("64B", .size(64)), ("4KiB", .size(4_096)), ("1kB", .size(1_000)), ("1MiB", .size(1 << 20)),
            ("text=2KiB", .field("text", size: 2_048)),
            ("64", .json("64")), ("{\"a\":\"b=1B\"}", .json("{\"a\":\"b=1B\"}")), ("\"4KiB\"", .json("\"4KiB\"")), ("=4B", .json("=4B")),
            ("@message.json", .json("@message.json")),
        ] as [(String, PayloadArgument)]
    )
    func payload(_ text: String, _ expected: PayloadArgument) {
        #expect(PayloadArgument(argument: text) == expected)
    }

    @Test("A size pads the message to it; a field's size is that of its text")
    func sizes() throws {
        let given: JSONValue = ["sku": "apple"]
        let padded = try PayloadArgument.size(100).message(from: given)
        #expect(try ControlJSON.bytes(of: padded).count == 100)
        #expect(padded["sku"] == "apple")
        let filled = try PayloadArgument.field("sku", size: 5).message(from: given)
        #expect(filled == ["sku": "xxxxx"])
        #expect(throws: ControlError.self) { try PayloadArgument.size(2 << 20).message(from: given) }
        #expect(throws: ControlError.self) { try PayloadArgument.size(10).message(from: 7) }
    }

    @Test(
        "A rate is a number in range",
        arguments: [("500", 500.0), ("500/s", 500), ("0.5", 0.5), ("0", nil), ("-1", nil), ("1e9", nil), ("x", nil)]
    )
    func rate(_ text: String, _ expected: Double?) {
        #expect(RateArgument(argument: text)?.perSecond == expected)
    }

    @Test(
        "Durations have three digits",
        arguments: [
            (7, "7µs"), (999, "999µs"), (1_000, "1.00ms"), (1_234, "1.23ms"), (45_678, "45.6ms"), (987_654, "987ms"), (1_050_000, "1.05s"),
            (61_000_000, "61.0s"),
        ] as [(UInt64, String)]
    )
    func latencies(_ microseconds: UInt64, _ text: String) {
        #expect(microseconds.latencyText == text)
    }

    @Test("Numbers have commas between thousands", arguments: [(0.5, "0.5"), (12, "12"), (999.6, "1,000"), (1_234_567, "1,234,567")])
    func numbers(_ number: Double, _ text: String) {
        #expect(number.grouped == text)
    }

    @Test("The report names the loads, the failures and what was measured")
    func text() {
        var figures = LoadFigures()
        for _ in 0..<9 { figures.countAnswer(after: .milliseconds(2), inTree: .milliseconds(1)) }
        figures.countFailure(ControlError(.timedOut, "no reply\u{1B}[2J"), after: .seconds(5))
        figures.elapsed = .seconds(1)
        var report = BenchReport(Self.settings)
        report.loads = [.init(target: .init(name: "10/s", targetRate: 10), figures: figures)]
        report.connections = 1
        #expect(report.text.hasPrefix("Shop.Hello asked at /shop, at most 8 at a time,\non 1 connection to the daemon's control socket\n"))
        #expect(report.text.contains("10/s: 1 failed with timedOut: no reply\\u{1B}[2J\n"))
        #expect(report.text.contains("latency  2.00ms"))
        #expect(report.text.contains("in tree  1.00ms"))
        #expect(report.exitCode == 1)
    }

    @Test("The exit code is that of most failures when no ask was answered, and that of the error that ended the measurement")
    func exitCode() {
        var report = BenchReport(Self.settings)
        #expect(report.exitCode == 0)
        var figures = LoadFigures()
        figures.countFailure(ControlError(.noSuchPath, "gone"), after: .zero)
        report.loads = [.init(target: .init(name: "1/s", targetRate: 1), figures: figures)]
        #expect(report.exitCode == 4)
        report.fatalError = ControlError(.unreachable, "gone")
        #expect(report.exitCode == 69)
    }

    @Test("An ask without an answer is a failure, unless the user didn't wait for it")
    func unanswered() {
        var figures = LoadFigures()
        figures.countAnswer(after: .zero, inTree: nil)
        figures.countUnanswered(after: .seconds(1))
        var report = BenchReport(Self.settings)
        report.loads = [.init(target: .init(name: "1/s", targetRate: 1), figures: figures)]
        #expect(report.exitCode == 1)
        report.isInterrupted = true
        #expect(report.exitCode == 0)
    }

    private static let settings = Bench.Settings(
        path: "/shop",
        message: "Shop.Hello",
        payload: [:],
        rate: 10,
        ramp: .zero,
        duration: .seconds(1),
        concurrency: 8,
        timeout: .seconds(5)
    )
}
