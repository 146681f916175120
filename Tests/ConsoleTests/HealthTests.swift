import Control
import TestSupport
import Testing
import WireProtocol

@testable import CoordinatorConsole

@Suite("What the console shows of states", .timeLimit(minutes: 2))
struct HealthTests {
    @Test("The page knows each state: its place in lists, its tone, its shape, and whether it's trouble")
    func page() throws {
        let script = try #require(Files.text(of: "\(Files.packageRoot)/Sources/CConsoleAssets/page/format.js"))
        let list = try #require(script.firstMatch(of: /states = \[(.*?)\]/))
        let states = list.1.matches(of: /"([a-z]+)"/).map { String($0.1) }
        #expect(states.sorted() == ShownState.allCases.map(\.rawValue).sorted())
        let urgencies = states.compactMap { ShownState(rawValue: $0)?.urgency }
        #expect(urgencies == urgencies.sorted(by: >))
        let tones = try #require(script.firstMatch(of: /const tones = \{(.*?)\};/)).1
        let shapes = try #require(script.firstMatch(of: /const shapes = \{(?s:(.*?))\n\};/)).1
        let troubles = try #require(script.firstMatch(of: /isTrouble = \(state\) => \[(.*?)\]/)).1
        for state in ShownState.allCases {
            #expect(tones.contains("\(state.rawValue): "), "\(state) has no tone")
            #expect(shapes.contains("\n  \(state.rawValue): "), "\(state) has no shape")
            // What an operator has paused is marked on the page too.
            #expect(troubles.contains("\"\(state.rawValue)\"") == (state.isTrouble || state == .paused), "\(state)")
        }
        let events = try #require(Files.text(of: "\(Files.packageRoot)/Sources/CConsoleAssets/page/events.js"))
        #expect(events.matches(of: /unhealthy: "unhealthy"|"unhealthy"/).count == 2)
    }

    @Test("The page offers for each state what the daemon can do then, and nothing else")
    func operations() throws {
        let script = try #require(Files.text(of: "\(Files.packageRoot)/Sources/CConsoleAssets/page/actions.js"))
        let table = try #require(script.firstMatch(of: /const possible = \{(?s:(.*?))\n\};/)).1
        let pairs = table.matches(of: /([a-z]+): \[(.*?)\]/).map { pair in
            (String(pair.1), Set(pair.2.matches(of: /"([a-z]+)"/).map { String($0.1) }))
        }
        let offered = Dictionary(pairs) { first, _ in first }
        #expect(pairs.count == offered.count && Set(offered.keys) == Set(ShownState.allCases.map(\.rawValue)))
        for state in ShownState.allCases {
            let operations = try #require(offered[state.rawValue])
            #expect(!operations.isEmpty && operations.allSatisfy { Changes.lifecycle["/api/v1/\($0)"] != nil }, "\(state)")
            #expect(operations.contains("resume") == (state == .paused), "\(state)")
            #expect(operations.contains("pause") == (state.isRunning && state != .paused), "\(state)")
            #expect(operations.contains("start") == [.inactive, .waiting, .failed, .stopping].contains(state), "\(state)")
            #expect(operations.contains("stop") != operations.contains("start") || state == .waiting, "\(state)")
            #expect(operations.contains("restart") == (operations.contains("stop") && state != .waiting), "\(state)")
        }
    }

    @Test("An unhealthy program is one in the row, in its detail and in the metrics")
    func unhealthy() async throws {
        let health = "{ command: [\"false\"], interval: 50ms, retries: 1, on_failure: report }"
        try await RunningConsole.with("  - { name: sick, program: { command: [sleep, \"1000\"], health: \(health) } }\n") { console in
            try await eventually("it's unhealthy") { try await console.node("/sick").state == "unhealthy" }
            let row = Row(try await console.node("/sick"), place: 0, at: 10_000_000, rate: nil, former: nil)
            #expect(row.state == "unhealthy" && row.since != nil)
            #expect(row.health?.hasSuffix("false exited with code 1") == true, "\(row.health ?? "")")
            try await eventually("the metrics say so") {
                let metrics = try await console.get("/metrics").body
                return [
                    #"coordinator_unhealthy{path="/sick"} 1"#, #"coordinator_unhealthy{path="/console"} 0"#,
                    #"coordinator_nodes{state="unhealthy"} 1"#, #"coordinator_up{path="/sick",type="sleep",kind="program"} 0"#,
                    #"coordinator_failed{path="/sick"} 0"#,
                ].allSatisfy { metrics.contains($0 + "\n") } && metrics.contains(#"coordinator_uptime_seconds{path="/sick"}"#)
            }
        }
    }
}
