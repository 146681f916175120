import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("coordinatorctl bench", .timeLimit(minutes: 3))
struct BenchTests {
    static let tree = """
        children:
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a] } }
        """

    private static let echo = ["/app/a", "Fixture.Echo", #"{"text":"hello"}"#]

    private static func with(_ body: (RunningDaemon) async throws -> Void) async throws {
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("the tree is up") { try await daemon.node("/app/a").state == "active" }
            try await body(daemon)
        }
    }

    @Test("At a rate, every ask that was due is answered, and the percentiles are in order")
    func rate() async throws {
        try await Self.with { daemon in
            let ended = try await daemon.bench(Self.echo + ["--rate", "50", "--duration", "2s", "--ramp", "500ms", "--timeout", "60s"])
            #expect(ended.exitCode == 0, "\(ended.errors)")
            let report = try ended.report
            #expect(report["interrupted"] == false && (1...4).contains(report["connections"]?.integerValue ?? 0))
            #expect(report["path"] == "/app/a" && report["message"] == "Fixture.Echo")
            #expect(report["duration_ms"] == 2_000 && report["ramp_ms"] == 500 && report["concurrency"] == 256)
            #expect(report["maximum_per_second"] == nil)
            let load = try #require(report.loads.first)
            #expect(report.loads.count == 1)
            #expect(load["load"] == "50/s" && load["target_per_second"] == 50)
            #expect(load["due"] == 100 && load["answered"] == 100 && load["unanswered"] == 0 && load["errors"] == [])
            for times in ["latency_us", "in_tree_us"] {
                let percentiles = ["p50", "p90", "p99", "p99_9", "max"].map { load[times]?[$0]?.integerValue ?? -1 }
                #expect(percentiles == percentiles.sorted() && percentiles[0] > 0, "\(times): \(percentiles)")
            }
            #expect(try #require(load["latency_us"]?["p50"]?.integerValue) >= #require(load["in_tree_us"]?["p50"]?.integerValue))
        }
    }

    @Test("A slow answer delays what is due after it, and the latency contains the delay, which single answers don't show")
    func coordinatedOmission() async throws {
        try await Self.with { daemon in
            // At most one ask at a time, as in a closed loop; of two hundred, two take a second.
            let stall = ["/app/a", "Fixture.Stall", #"{"every":100,"milliseconds":1000}"#]
            let ended = try await daemon.bench(
                stall + ["--rate", "100", "--duration", "2s", "--ramp", "0s", "--concurrency", "1", "--timeout", "30s"]
            )
            #expect(ended.exitCode == 0, "\(ended.errors)")
            let load = try #require(try ended.report.loads.first)
            #expect(load["answered"] == 200)
            let latency = try #require(load["latency_us"]?["p90"]?.integerValue)
            let inTree = try #require(load["in_tree_us"]?["p90"]?.integerValue)
            #expect(latency >= 400_000)
            #expect(inTree < latency / 2)
        }
    }

    @Test("Without a rate the greatest is found, and latency is measured at parts of it")
    func maximum() async throws {
        try await Self.with { daemon in
            let ended = try await daemon.bench(
                Self.echo + ["--duration", "500ms", "--ramp", "0s", "--concurrency", "16", "--timeout", "60s"]
            )
            #expect(ended.exitCode == 0, "\(ended.errors)")
            let report = try ended.report
            let maximum = try #require(report["maximum_per_second"]?.numberValue)
            #expect(maximum > 0)
            let names = report.loads.map { $0["load"] }
            #expect(names == ["pings alone", "maximum", "10% of maximum", "50% of maximum", "90% of maximum"])
            #expect(report.loads.map { $0["percent_of_maximum"] } == [nil, nil, 10, 50, 90])
            let target = try #require(report.loads[3]["target_per_second"]?.numberValue)
            #expect(abs(target - maximum / 2) < 1)
            // At the greatest rate no ask is due at a time, so there is no latency that could be compared.
            #expect(report.loads.map { $0["latency_us"] == nil } == [true, true, false, false, false])
        }
    }

    @Test("People get a table that says what was measured, and which loads were run")
    func text() async throws {
        try await Self.with { daemon in
            let ended = try await daemon.control(
                ["bench"] + Self.echo + ["--duration", "200ms", "--ramp", "0s", "--concurrency", "4", "--timeout", "60s"]
            )
            #expect(ended.exitCode == 0, "\(ended.errors)")
            for expected in [
                "Fixture.Echo asked at /app/a, at most 4 at a time,\non 1 connection to the daemon's control socket\n", "p99.9",
                "pings alone  ",
                "maximum  ", "10% of maximum  ", "50% of maximum  ", "90% of maximum  ", "latency: from the time at which an ask was due",
            ] {
                #expect(ended.output.contains(expected), "\(expected) in\n\(ended.output)")
            }
            // There is a live line on a terminal alone.
            #expect(ended.errors == "")
        }
    }

    @Test("A terminal shows what has been measured so far, and not any more at the end")
    func liveLine() async throws {
        try await Self.with { daemon in
            let terminal = try Terminal()
            let specification = daemon.controlSpecification(
                ["bench"] + Self.echo + ["--rate", "20", "--duration", "2s", "--ramp", "0s", "--timeout", "60s"],
                standardError: .descriptor(terminal.slave)
            )
            try await withChild(specification) { child in
                #expect(await child.waitForExit() == .exited(code: 0))
            }
            let shown = terminal.text
            #expect(shown.contains("\r\u{1B}[K20/s  ") && shown.contains(" of 2s  ") && shown.contains("  p50 "), "\(shown)")
            #expect(shown.hasSuffix("\r\u{1B}[K"))
        }
    }

    @Test(
        "What is wrong is found by the first ask, with the exit code of ask",
        arguments: [
            (["/app/b", "Fixture.Echo"], "noSuchPath", 4), (["/app/a", "Fixture.Nothing"], "unhandled", 1),
            (["/app/a", "Fixture.Echo", #"{"text":1}"#], "invalidRequest", 64),
            (["/app/a", "Fixture.Wait", "--timeout", "50ms"], "timedOut", 75), (["app", "Fixture.Echo"], "invalidRequest", 64),
        ] as [([String], String, Int32)]
    )
    func wrong(_ arguments: [String], _ code: String, _ exitCode: Int32) async throws {
        try await Self.with { daemon in
            let ended = try await daemon.bench(arguments)
            #expect(ended.exitCode == exitCode)
            #expect(ended.output == "")
            #expect(ended.errors.hasPrefix(#"{"error":{"code":"\#(code)","m"#), "\(ended.errors)")
        }
    }

    @Test("Wrong options are refused", arguments: [["--rate", "0"], ["--concurrency", "0"], ["--duration", "0s"], ["--payload", "{}"]])
    func usage(_ options: [String]) async throws {
        try await Self.with { daemon in
            let ended = try await daemon.bench(Self.echo + options)
            #expect(ended.exitCode == 64)
        }
    }

    @Test("A message is as large as the user says")
    func payload() async throws {
        try await Self.with { daemon in
            let options = ["--rate", "20", "--duration", "200ms", "--ramp", "0s", "--timeout", "60s"]
            for payload in [["text=64KiB"], [#"{"text":"x"}"#]] {
                let ended = try await daemon.bench(["/app/a", "Fixture.Echo", "--payload"] + payload + options)
                #expect(ended.exitCode == 0, "\(ended.errors)")
            }
            let padded = try await daemon.bench(Self.echo + ["--payload", "64KiB"] + options)
            #expect(padded.exitCode == 0, "\(padded.errors)")
        }
    }

    @Test("Ctrl-C ends the measurement with the result so far", arguments: [Signal.interrupt, .terminate])
    func interrupted(_ signal: Signal) async throws {
        try await Self.with { daemon in
            let report = try await Self.interruptedReport(from: daemon, exitCode: 0) { try $0.send(signal) }
            #expect(report["interrupted"] == true)
            let load = try #require(report.loads.first)
            #expect(try #require(load["answered"]?.integerValue) > 0)
            #expect(try #require(load["elapsed_ms"]?.integerValue) < 60_000)
        }
    }

    /// Returns the report of a long measurement that is interrupted once asks have come.
    private static func interruptedReport(
        from daemon: RunningDaemon,
        exitCode: Int32,
        _ interrupt: (ChildProcess) throws -> Void
    ) async throws -> JSONValue {
        let (output, errors) = (Transcript(), Transcript())
        let specification = daemon.controlSpecification(
            ["--json", "bench"] + echo + ["--rate", "100", "--duration", "10m", "--ramp", "0s", "--timeout", "60s"],
            standardOutput: output.destination,
            standardError: errors.destination
        )
        try await withChild(specification) { child in
            try await daemon.eventually("asks have come") { try await daemon.echoes > 10 }
            try interrupt(child)
            #expect(await child.waitForExit() == .exited(code: exitCode), "\(errors.text)")
        }
        return try ControlJSON.parse(output.bytes)
    }

    @Test("Under the greatest load other operators are answered")
    func otherOperators() async throws {
        try await Self.with { daemon in
            let specification = daemon.controlSpecification(
                ["bench"] + Self.echo + ["--duration", "10m", "--concurrency", "4096", "--timeout", "10m"]
            )
            try await withChild(specification) { child in
                try await daemon.eventually("asks have come") { try await daemon.echoes > 100 }
                for _ in 0..<5 {
                    let tree = try await daemon.tree()
                    #expect(tree.children.map(\.path) == ["/app"])
                }
                #expect(try await daemon.control("status", "/app/a").exitCode == 0)
                try child.send(.interrupt)
                #expect(await child.waitForExit() == .exited(code: 0))
            }
        }
    }

    @Test("A daemon that goes away ends the measurement, whose result so far is printed")
    func daemonGone() async throws {
        try await Self.with { daemon in
            let report = try await Self.interruptedReport(from: daemon, exitCode: 69) { _ in try daemon.process.send(.kill) }
            #expect(report["error"]?["code"] == "unreachable")
            #expect(try #require(report.loads.first?["answered"]?.integerValue) > 0)
        }
        let ended = try await BuiltProgram("coordinatorctl").run(["--runtime-dir", "/nonexistent", "bench"] + Self.echo)
        #expect(ended.exitCode == 69)
    }
}

extension RunningDaemon {
    fileprivate func bench(_ arguments: [String]) async throws -> BuiltProgram.Ended {
        try await control(["--json", "bench"] + arguments)
    }

    /// The number of echoes that the tree has answered.
    fileprivate var echoes: Int64 {
        get async throws {
            let answer = try await call(.ask(path: "/app/a", message: "Fixture.Echoes", payload: [:], timeout: .seconds(20)))
            return try #require(answer["reply"]?.integerValue)
        }
    }
}

extension BuiltProgram.Ended {
    fileprivate var report: JSONValue {
        get throws { try ControlJSON.parse(Array(output.utf8)) }
    }
}

extension JSONValue {
    fileprivate var loads: [JSONValue] { self["loads"]?.arrayValue ?? [] }
}

/// A terminal whose screen the test reads.
private final class Terminal: Sendable {
    private let master: Int32
    let slave: Int32

    init() throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(master >= 0)
        // The requests TIOCSPTLCK and TIOCGPTPEER of ioctl_tty(2), which Swift doesn't import.
        var lock: CInt = 0
        try #require(ioctl(master, 0x4004_5431, &lock) == 0)
        slave = ioctl(master, 0x5441, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(slave >= 0)
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(master)
        close(slave)
    }

    /// What was written to it.
    var text: String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = read(master, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
