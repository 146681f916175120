import Control
import Foundation
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("The page in a headless Chromium", .enabled(if: Programs.have("chromium-headless-shell")), .timeLimit(minutes: 4))
struct BrowserTests {
    private static func children(_ count: Int) -> String {
        """
          - name: jobs
            children: [{ name: job, program: { command: [sleep, "1000"] }, autostart: false, instances: \(count) }]
          - { name: shaky, program: { command: [sh, -c, "echo about to fail; sleep 1; exit 3"] } }
          - { name: gone, restart_limits: { max_restarts: 0 }, program: { command: [sh, -c, "exit 1"] } }
          - { name: other, program: { command: [sh, -c, "echo words; exec sleep 1000"] } }
        """
    }

    @Test("The page shows the tree, by keyboard, in both themes, on a small screen, without an error", arguments: [4, 1000])
    func page(count: Int) async throws {
        try await RunningConsole.with(Self.children(count)) { console in
            try await eventually("all is known") { try await console.tree().children.count == 5 }
            let report = try await Self.browse("page.py", "\(count)", console, [RunningConsole.token])
            #expect(report["count"]?.stringValue == "\(count + 6)".grouped)
            #expect(report["rows_in_document"]?.integerValue ?? 1000 <= 60)
            #expect(report["focus"] == "grid" && report["detail"] != "/" && report["detail_closed"] == true)
            #expect(report["accessible_grid"] == 1 && report["row_levels"]?[1] == 2 && report["unnamed_buttons"] == [])
            #expect(report["sideways"] == 0 && report["bad_texts"] == 0 && report["search_cleared"] == true)
            #expect(report["empty"]?.stringValue?.contains("Nothing matches among") == true)
            #expect(report["layout_shifts"] == [] && report["rows_after_changes"]?.integerValue ?? 1000 <= 60)
            #expect(report["problems"] == [] && report["foreign_requests"] == [])
        }
    }

    /// The file of axe-core that a package for Python has, beside the interpreter for tests.
    private static let axe = ProcessInfo.processInfo.environment["COORDINATORS_TEST_PYTHON"].flatMap { python in
        let libraries = python.split(separator: "/", omittingEmptySubsequences: false).dropLast(2).joined(separator: "/") + "/lib"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: libraries)) ?? []
        let files = versions.map { "\(libraries)/\($0)/site-packages/axe_playwright_python/axe.min.js" }
        return files.first { FileManager.default.fileExists(atPath: $0) }
    }

    /// A child whose durable flows are parked, since their charges fail.
    private static let till = """
        - name: till
            worker:
              executable: \(BuiltProgram("FlowWorker").path)
              coordinator: Till
              environment: { FLOW_STORE: DIRECTORY/till.sqlite, FLOW_ORDERS: "3", FLOW_FAILURES: "1000" }
        """

    @Test("Durable flows are shown with what they are worked on and why they wait, and go on by what an operator chooses")
    func flows() async throws {
        try await RunningConsole.with("  " + Self.till) { console in
            let report = try await Self.browse("flows.py", "flows", console, [RunningConsole.token])
            #expect(report["fact"]?.stringValue?.hasPrefix("0 open, 3 parked") == true)
            let parked = (report["parked"]?.arrayValue ?? []).compactMap(\.stringValue)
            #expect(parked.map { $0.prefix(8) } == ["orders/1", "orders/2", "orders/3"])
            #expect(
                parked.allSatisfy { $0.contains("parked, 4 attempts failed") && $0.contains(" charge ") && $0.hasSuffix(" ago") },
                "\(parked)"
            )
            #expect(report["buttons_without_token"] == 0 && report["actions"] == ["retry", "skip", "cancel"])
            #expect(report["question"]?.stringValue?.contains("skip /till/orders/1?") == true)
            #expect(report["after_no"] == "parked, 4 attempts failed" && report["skipped"]?.stringValue?.hasPrefix("parked, 4") == false)
            #expect(report["changes"] == 1)
            #expect(report["focus"] == "retry /till/orders/2" && report["problems"] == [])
        }
    }

    private static let accessibleChildren = """
          - name: tree
            worker: { executable: \(BuiltProgram("FixtureWorker").path), coordinator: RootCoordinator, configuration: { children: [a], placement: worker } }
          \(till)
          - { name: talker, program: { command: [sh, -c, "seq -f 'line %g' 300; exec sleep 1000"] } }
          - { name: gone, restart_limits: { max_restarts: 0 }, program: { command: [sh, -c, "exit 7"] } }
          - { name: sick, program: { command: [sleep, "1000"], health: { command: ["false"], interval: 200ms, retries: 1, on_failure: report } } }
          - name: jobs
            children: [{ name: job, program: { command: [sleep, "1000"] }, autostart: false, instances: 500 }]
        """

    @Test(
        "axe-core finds nothing wrong with anything that the page shows, large and small, light and dark, and the focus goes through all of it",
        .enabled(if: axe != nil, "needs axe-core: Deploy/test installs it")
    )
    func axeCore() async throws {
        let axe = try #require(Self.axe)
        try await RunningConsole.with(Self.accessibleChildren) { console in
            let report = try await Self.browse("axe.py", "axe", console, [RunningConsole.token, axe])
            #expect(report["violations"] == [] && report["views"]?.integerValue ?? 0 >= 32)
            #expect(report["sideways"] == [] && report["outlined"] == [])
            let order = ["skip", "unlock", "theme", "help-button", "search", "sort", "grid", "trouble-only", "events"]
            #expect(report["focus"] == .array(order.map { .string($0) }))
            #expect(report["planted"] == 1 && report["problems"] == [])
        }
    }

    private static let longName = "ingest-service-for-the-customers-of-the-east"

    private static let nightChildren = """
          - { name: talker, program: { command: [sh, -c, "seq -f 'line %g' 300; exec sleep 1000"] } }
          - { name: \(longName), program: { command: [sleep, "1000"] } }
          - { name: shaky, program: { command: [sh, -c, "sleep 1; exit 3"] } }
          - { name: gone, restart_limits: { max_restarts: 0 }, program: { command: [sh, -c, "exit 7"] } }
        """

    @Test("What is wrong is found by keyboard, with the output beside it and what can be done about it, by address and on a phone too")
    func night() async throws {
        try await RunningConsole.with(Self.nightChildren) { console in
            let report = try await Self.browse("night.py", "night", console, [RunningConsole.token, Self.longName])
            let columns = (report["columns"]?.arrayValue ?? []).compactMap(\.stringValue)
            #expect(columns.contains("CPU %") && columns.contains("Memory") && !columns.contains("Waiting"))
            #expect(columns.last?.hasPrefix("Command") == true && report["row"]?.stringValue?.contains("sleep 1000") == true)
            #expect(report["gone"]?.stringValue?.contains("exited with code 7") == true)
            let size = (report["log_size"]?.arrayValue ?? []).compactMap(\.numberValue)
            #expect(size.count == 2 && size[0] > (report["list_width"]?.numberValue ?? 9999) && size[1] > 240)
            #expect(report["log_is_at_end"] == true)
            #expect(report["charts"] == ["CPU", "Memory"])
            #expect(report["marks"]?.arrayValue == (290...299).map { "line \($0)" })
            #expect(report["find"]?.stringValue?.hasPrefix("#at/talker?find=line") == true)

            #expect(report["wrong_token"]?.stringValue?.contains("isn't the console's token") == true && report["wrong_is_open"] == true)
            #expect(report["dialog_closed"] == true)
            #expect(report["active"] == ["restart", "pause", "stop", "kill"] && report["failed"] == ["start"])
            #expect(report["paused"] == ["resume", "restart", "stop", "kill"] && report["focus"] == true)
            #expect(report["refused"]?.stringValue?.hasPrefix("start: ") == true && report["locked"] == "read-only")

            // Three events each turn of the loop, and one line.
            let events = (report["events"]?.arrayValue ?? []).compactMap(\.stringValue)
            #expect(events.count == 1 || events.count == 2)
            #expect(events.allSatisfy { $0.contains("/shaky") } && events.first?.contains("exited with code 3") == true)
            #expect(report["pressed"]?.arrayValue?.count == 1)
            #expect(report["page"]?[0] == "#log/talker" && report["page"]?[1]?.numberValue ?? 0 > 1200)
            #expect(report["page"]?[2]?.stringValue?.hasPrefix("/talker – ") == true)

            #expect(report["phone_detail_top"] == true && report["phone_sideways"] == 0)
            #expect(report["long_name"] == [.string(String(Self.longName.suffix(9))), true, true])
            #expect(report["problems"] == [])
        }
    }

    /// A key that a page which took it for markup would run.
    private static let hostile = "<img src=x onerror=window.owned=1>txt"

    private static let detailChildren = """
          - name: tree
            worker: { executable: \(BuiltProgram("FixtureWorker").path), coordinator: RootCoordinator, configuration: { children: [a], placement: worker } }
          - { name: busy, worker: { executable: \(BuiltProgram("FixtureWorker").path), coordinator: RootCoordinator } }
          - name: "\(hostile)"
            program: { command: [sh, -c, "printf '<script>window.owned=2</script> \\\\033[2J \\\\342\\\\200\\\\256gnp\\\\n'; exec sleep 1000"] }
          - { name: weak, program: { command: [sh, -c, "exit 1"] }, restart_limits: { max_restarts: 0 }, autostart: false, instances: 20 }
        """

    @Test("A coordinator's detail has its traces, latencies and mailbox; names are texts; trouble is announced, and not too often")
    func detail() async throws {
        try await RunningConsole.with(Self.detailChildren) { console in
            _ = try await console.control("pause", "/busy")
            for number in 1...20 { _ = try await console.control("send", "/busy", "Fixture.Note", "{\"number\": \(number)}") }
            let report = try await Self.browse("detail.py", "detail", console, [RunningConsole.token])
            #expect(report["mutating_without_token"] == 0 && report["mutating_with_token"]?.integerValue ?? 0 > 0)
            try Self.checkStaircase(report)
            #expect(report["charts"]?.arrayValue?.contains("Latency") == true && report["latency_lines"] == 2)
            let latency = try #require(report["latency"]?.stringValue)
            #expect(latency.contains("p99 ") && latency.contains("p50 ") && latency.contains("s") && !latency.contains("–"))
            #expect(report["canary_shown"] == false && report["canary_told"] == false)
            // Logarithmic: 20 of at most 1,024 messages.
            let mailbox = try #require(report["mailbox"]?.numberValue)
            #expect(abs(mailbox - 0.44) < 0.05)
            #expect(report["forced_mailbox"] == true && report["forced_trace"] == true && report["animations"] == 0)
            #expect(report["executed"]?.isNull == true && report["images"] == 1 && report["bidi"] == 0)
            #expect(report["title"]?.stringValue == "/<img src=x onerror=window.owned=1>txt")
            #expect(report["log"]?.stringValue?.contains("<script>window.owned=2</script> \\u001b[2J \\u202egnp") == true)
            #expect(report["polite"] == "polite" && report["told"] == 20)
            let said = (report["said"]?.arrayValue ?? []).compactMap { $0["at"]?.numberValue }
            #expect(zip(said, said.dropFirst()).allSatisfy { $1 - $0 > 4_900 }, "\(said)")
            #expect(report["problems"] == [])
        }
    }

    /// Checks that the steps of a trace stand below each other, each as long as it took.
    private static func checkStaircase(_ report: JSONValue) throws {
        let hops = try #require(report["trace"]?["hops"]?.arrayValue)
        let whole = try #require(report["trace"]?["duration_us"]?.numberValue)
        #expect(report["hops"] == ["/tree", "└ /tree/a", "└ /tree"] && hops.count == 3)
        let indents = (report["indents"]?.arrayValue ?? []).compactMap(\.numberValue)
        #expect(indents.count == 3 && indents[1] < indents[2])
        let bars = try #require(report["bars"]?.arrayValue)
        let tracks = try #require(report["tracks"]?.arrayValue)
        try #require(bars.count == 3 && tracks.count == 3)
        for (hop, (bar, track)) in zip(hops, zip(bars, tracks)) {
            let left = try #require(hop["start_us"]?.numberValue) / whole
            let width = try #require(hop["duration_us"]?.numberValue) / whole
            let (barLeft, barWidth) = try (#require(bar[0]?.numberValue), #require(bar[1]?.numberValue))
            let (trackLeft, trackWidth) = try (#require(track[0]?.numberValue), #require(track[1]?.numberValue))
            // Two pixels are the least that is seen.
            #expect(trackWidth > 100 && abs(barLeft - trackLeft - left * trackWidth) < 3 && abs(barWidth - width * trackWidth) < 3)
        }
    }

    @Test(
        "A page shows that the daemon has been killed, keeps what it knew, and follows the next daemon without being loaded again",
        arguments: [false, true]
    )
    func daemonKilled(isChild: Bool) async throws {
        try await RunningConsole.with(ConsoleTests.children) { console in
            // As a child of the daemon the console outlives it too, and the next daemon adopts it.
            let port = isChild ? console.port : try FreePort.find()
            let other = ProcessSpecification(
                executable: BuiltProgram("coordinator-console").path,
                arguments: ["--listen", "127.0.0.1:\(port)", "--runtime-dir", "\(console.directory)/run"],
                standardOutput: .null,
                standardError: .null
            )
            try await withChild(isChild ? ProcessSpecification(executable: "/bin/sleep", arguments: ["1000"]) : other) { _ in
                try await eventually("it's ready") { try? await HTTPExchange.request("GET", "/readyz", port: port).status == 200 }
                let command = [
                    "\(console.daemon.identity.processID)", BuiltProgram("coordinatord").path, "--config", "\(console.directory)/tree.yaml",
                    "--runtime-dir", "\(console.directory)/run",
                ]
                let report = try await Self.browse("recovery.py", isChild ? "killed-with-child" : "killed", console, command, port: port)
                #expect(report["seconds_to_late"]?.numberValue ?? 60 < 10)
                #expect(report["link"] == "the daemon doesn't answer")
                #expect(report["alert"]?.stringValue?.contains("The figures below are old") == true)
                #expect(report["rows_meanwhile"]?.arrayValue?.contains("/calm") == true)
                #expect(report["rows_afterwards"]?.arrayValue?.contains("/calm") == true && report["late_afterwards"] == false)
                #expect(report["marker"] == "the same page")
            }
        }
    }

    @Test("A page says that the daemon hasn't answered yet, and keeps what it knew when both are killed and the console alone is back")
    func consoleAlone() async throws {
        let temporary = try TemporaryDirectory()
        try Files.write("children:\n\(ConsoleTests.children)\n", to: temporary.file("tree.yaml"))
        let port = try FreePort.find()
        let runtime = ["--runtime-dir", temporary.file("run")]
        let console = [BuiltProgram("coordinator-console").path, "--listen", "127.0.0.1:\(port)"] + runtime
        let daemon = [BuiltProgram("coordinatord").path, "--config", temporary.file("tree.yaml")] + runtime
        let commands = try [console, daemon].map { String(decoding: try ControlJSON.bytes(of: $0), as: UTF8.self) }
        let report = try await Self.browse("late.py", "console-alone", port: port, commands)
        #expect(report["count"] == "–" && report["states"] == ["–"] && report["detail"] == "Waiting for the daemon.")
        let alert = try #require(report["alert"]?.stringValue)
        #expect(alert.hasPrefix("The daemon doesn't answer: ") && !alert.contains("old"), "\(alert)")
        #expect(report["rows_meanwhile"]?.arrayValue?.contains("/calm") == true && report["facts_meanwhile"] == true)
        #expect(report["rows_afterwards"]?.arrayValue?.contains("/calm") == true && report["marker"] == "the same page")
        withExtendedLifetime(temporary) {}
    }

    @Test("A page that is hidden follows nothing, one that is scrolled keeps little, and one that gets no answer says nothing false")
    func lapses() async throws {
        try await RunningConsole.with(ConsoleTests.children) { console in
            let report = try await Self.browse("lapses.py", "lapses", console, [RunningConsole.token])
            #expect(report["streams_hidden"] == 0 && report["streams_shown"] == 1)
            #expect(report["charts_away"] == true && report["charts_refused"] == true)
            #expect(report["charts_of_another"] == "The console doesn't tell the figures at present.")
            #expect(report["charts_unknown"] == "No figures yet.")
            #expect(report["charts_without_figures"]?.stringValue?.contains("neither a process nor messages") == true)
            #expect(report["unanswered"]?.stringValue?.contains("the change may have been carried out") == true)

            let addresses = (report["streams_again"]?.arrayValue ?? []).compactMap(\.stringValue)
            #expect(addresses.count == 2 && addresses.first == "" && addresses.last?.hasPrefix("?position=") == true, "\(addresses)")
            #expect(report["wholes"] == 1 && report["gaps"] == [true, true])

            #expect(report["scrolled"] == ["5,000 new ↑", false, true] && report["released"] == [true, true, 200])
            // The entries, and those that are shown.
            #expect(report["kept_scrolled"]?.integerValue ?? 5000 <= 700 && report["kept_at_top"]?.integerValue ?? 5000 <= 700)
            #expect(report["problems"] == [])
        }
    }

    /// Runs a script of the browser, whose pictures stay, and returns what it has found.
    private static func browse(
        _ script: String,
        _ pictures: String,
        _ console: RunningConsole,
        _ arguments: [String],
        port: UInt16? = nil
    ) async throws -> JSONValue {
        try await browse(script, pictures, port: port ?? console.port, arguments)
    }

    private static func browse(_ script: String, _ pictures: String, port: UInt16, _ arguments: [String]) async throws -> JSONValue {
        let directory = "\(Files.packageRoot)/.build/console-pictures/\(pictures)"
        let words = ["http://127.0.0.1:\(port)/", directory] + arguments
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let run = try await Programs.shell("mkdir -p '\(directory)' && python3 -B '\(Programs.script("Browser/\(script)"))' \(quoted)")
        try #require(run.exitCode == 0, "\(run.output) \(run.errors)")
        print("\(script), \(pictures): \(run.output)pictures: \(directory)")
        return try ControlJSON.parse(Array(run.output.utf8))
    }
}

extension String {
    /// A number with a comma before its last three digits.
    fileprivate var grouped: String { count > 3 ? dropLast(3) + "," + suffix(3) : self }
}
