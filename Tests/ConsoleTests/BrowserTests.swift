import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("The page in a headless Chromium", .enabled(if: Programs.have("chromium-headless-shell")), .timeLimit(minutes: 4))
struct BrowserTests {
    private static func children(_ count: Int) -> String {
        """
          - key: jobs
            children: [{ key: job, program: { command: [sleep, "1000"] }, autostart: false, instances: \(count) }]
          - { key: shaky, program: { command: [sh, -c, "echo about to fail; sleep 1; exit 3"] } }
          - { key: gone, restart_limits: { intensity: 0 }, program: { command: [sh, -c, "exit 1"] } }
          - { key: other, program: { command: [sh, -c, "echo words; exec sleep 1000"] } }
        """
    }

    @Test("The page shows the tree, by keyboard, in both themes, on a small screen, without an error", arguments: [4, 1000])
    func page(count: Int) async throws {
        try await RunningConsole.with(Self.children(count)) { console in
            let pictures = Programs.pictures(count)
            try await eventually("all is known") { try await console.tree().children.count == 5 }
            let run = try await Programs.shell(
                "mkdir -p \(pictures) && python3 \(Programs.script("browser.py")) http://127.0.0.1:\(console.port)/ \(pictures) 30"
            )
            try #require(run.exitCode == 0, "\(run.output) \(run.errors)")
            let report = try ControlJSON.parse(Array(run.output.utf8))
            print("browser, \(count) jobs: \(run.output)pictures: \(pictures)")
            #expect(report["count"]?.stringValue == "\(count + 6)".grouped)
            #expect(report["rows_in_document"]?.integerValue ?? 1000 <= 60)
            #expect(report["focus"] == "grid" && report["detail"] != "/" && report["detail_closed"] == true)
            #expect(report["accessible_grid"] == 1 && report["row_levels"]?[1] == 2 && report["unnamed_buttons"] == [])
            #expect(report["sideways"] == 0 && report["bad_texts"] == 0 && report["search_cleared"] == true)
            #expect(report["empty"]?.stringValue?.contains("Nothing matches among") == true)
            #expect(report["problems"] == [] && report["foreign_requests"] == [])
        }
    }
}

extension String {
    /// A number with a comma before its last three digits.
    fileprivate var grouped: String { count > 3 ? dropLast(3) + "," + suffix(3) : self }
}

extension Programs {
    /// The directory of a run's pictures, which stays.
    fileprivate static func pictures(_ count: Int) -> String { "\(Files.packageRoot)/.build/console-pictures/\(count)" }
}
