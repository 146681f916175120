import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// What operators see of durable flows, and say of them, in a worker of the daemon.
@Suite("Durable flows, for operators", .timeLimit(minutes: 5))
struct FlowOperatorTests {
    private static let tree = """
        children:
          - name: till
            worker:
              executable: \(BuiltProgram("FlowWorker").path)
              coordinator: Till
              environment: { FLOW_STORE: DIRECTORY/till.sqlite, FLOW_ORDERS: "3", FLOW_FAILURES: "12" }
          - { name: other, program: { command: [sleep, "1000"] } }
          - { name: fixture, worker: { executable: FIXTURE, coordinator: RootCoordinator } }
        """

    private static func run(_ body: (RunningDaemon) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        try await RunningDaemon.with(tree.replacing("DIRECTORY", with: directory.path), body)
    }

    @Test("Parked flows are found, shown and told of, and go on as an operator says, whether their coordinators live or not")
    func parked() async throws {
        try await Self.run { daemon in
            try await daemon.eventually("all are parked") {
                try await daemon.control("flows", "--parked").output.matches(of: /\/till\/orders\/\d +parked +charge +4/).count == 3
            }
            #expect(try await daemon.node("/till").flows?.parked == 3)
            let list = try await daemon.control("flows", "/till", "--parked", "--limit", "2")
            #expect(list.exitCode == 0 && list.output.hasSuffix("there are more: --after /till/orders/2\n"), "\(list)")
            let rest = try await daemon.control("flows", "--after", "/till/orders/2")
            #expect(rest.output.contains("/till/orders/3") && !rest.output.contains("/till/orders/2"), "\(rest)")
            #expect(try await daemon.control("flows", "/other").output == "no flows\n")
            #expect(try await daemon.control("flows", "--finished").output == "no flows\n")

            let shown = try await daemon.control("flow", "/till/orders/1")
            for fact in [/status: +parked/, /pages: +reserve, charge/, /failed: +4/, /error: +Unreachable\(\)/] {
                #expect(shown.output.contains(fact), "\(shown)")
            }
            let events = try await daemon.control("events")
            for number in 1...3 {
                let isTold = events.output.split(separator: "\n").contains {
                    $0.contains(" parked ") && $0.contains(" /till/orders/\(number) ")
                }
                #expect(isTold, "\(number) \(events)")
            }

            // The charges succeed by now.
            let again = try await daemon.control("flow", "retry", "/till/orders/1")
            #expect(again.exitCode == 0, "\(again)")
            try await daemon.eventually("it's finished") {
                try await daemon.control("flow", "show", "/till/orders/1").output.contains(/status: +finished/)
            }
            let cancelled = try await daemon.control("flow", "cancel", "/till/orders/2", "--because", "sold out")
            #expect(cancelled.exitCode == 0, "\(cancelled)")
            try await daemon.eventually("it's undone") {
                try await daemon.control("flows", "--finished").output.contains(/orders\/2 +unwound/)
            }
            // One whose coordinator was stopped is known all the same, and lives again for what is said of it.
            #expect(try await daemon.control("stop", "/till/orders/3").exitCode == 0)
            #expect(try await daemon.control("flow", "/till/orders/3").output.contains("parked"))
            // It may get another state, if its type reads that.
            let state = try await daemon.control("--json", "flow", "/till/orders/3", "--state")
            #expect(state.output.contains(#""state":{"order":{"#), "\(state)")
            for (wrong, code) in [("nonsense", 64), (#"{"order":7}"#, 64)] {
                let refused = try await daemon.control("flow", "skip", "/till/orders/3", "--state", wrong)
                #expect(refused.exitCode == code, "\(refused)")
            }
            #expect(try await daemon.control("flow", "/till/orders/3").output.contains("parked"))
            // Who has looked at another page skips nothing.
            let stale = try await daemon.control("flow", "skip", "/till/orders/3", "--page", "1")
            #expect(stale.exitCode == 1 && stale.errors.contains("has gone on to page number 2"), "\(stale)")
            let order = #"{"number":3,"item":"book","card":"good","cents":500,"isBooked":false}"#
            let skipped = try await daemon.control(
                "flow",
                "skip",
                "/till/orders/3",
                "--page",
                "2",
                "--state",
                #"{"order":\#(order),"receipt":{"number":4711}}"#
            )
            #expect(skipped.exitCode == 0, "\(skipped)")
            #expect(try await daemon.control("flow", "/till/orders/3", "--state").output.contains(#""receipt":{"number":4711}"#))
            try await daemon.eventually("nothing is parked") { try await daemon.node("/till").flows?.parked == 0 }
            let operators = try await daemon.control("--json", "events")
            for (operation, path) in [("flow-retry", "/till/orders/1"), ("flow-cancel", "/till/orders/2"), ("flow-skip", "/till/orders/3")]
            {
                let isTold = operators.output.split(separator: "\n").contains { line in
                    line.contains("\"operation\":\"\(operation)\"") && line.contains("\"path\":\"\(path)\"")
                }
                #expect(isTold, "\(operators)")
            }
            #expect(!operators.output.contains("\"operation\":\"flow\""), "what only looks is no event")
        }
    }

    @Test(
        "A build that can't go on with the open flows is refused before the present life ends, in either direction; one that can goes on with them"
    )
    func deploys() async throws {
        let directory = try TemporaryDirectory()
        // The build that is started next is what the file says.
        let build = "\(directory.path)/worker"
        func deploy(_ version: Int, migrates: Bool = true) throws {
            let script =
                "#!/bin/sh\nFLOW_VERSION=\(version) FLOW_MIGRATES=\(migrates ? "yes" : "no") exec \(BuiltProgram("FlowWorker").path) \"$@\"\n"
            try Files.write(script, to: build)
            #expect(chmod(build, 0o755) == 0)
        }
        try deploy(1)
        let tree = Self.tree.replacing("DIRECTORY", with: directory.path).replacing(BuiltProgram("FlowWorker").path, with: build)
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("all are parked") { try await daemon.node("/till").flows?.parked == 3 }
            let pid = try await daemon.runningPID(of: "/till")
            try deploy(2, migrates: false)
            let refused = try await daemon.control("restart", "--rolling", "/till")
            #expect(refused.exitCode == 1 && refused.errors.contains("nothing has changed: /till/orders/1: "), "\(refused)")
            #expect(refused.errors.contains("the state of version 1 has no tax"), "\(refused)")
            #expect(try await daemon.runningPID(of: "/till") == pid)
            #expect(try await daemon.node("/till").flows?.parked == 3)

            try deploy(2)
            let forward = try await daemon.control("restart", "--rolling", "/till")
            #expect(forward.exitCode == 0, "\(forward)")
            let next = try await daemon.runningPID(of: "/till")
            #expect(next != pid)
            try deploy(1)
            let back = try await daemon.control("restart", "--rolling", "/till")
            #expect(back.exitCode == 1 && back.errors.contains("has version 2, and this build knows 1"), "\(back)")
            #expect(try await daemon.runningPID(of: "/till") == next)
            // In this process charges fail anew: what may have been charged is tried until that is known, and then undone.
            for number in 1...3 { #expect(try await daemon.control("flow", "cancel", "/till/orders/\(number)").exitCode == 0) }
            try await daemon.eventually("all are undone") {
                for number in 1...3 { _ = try await daemon.control("flow", "retry", "/till/orders/\(number)") }
                return try await daemon.control("flows", "--finished").output.matches(of: /unwound/).count == 3
            }
            let over = try await daemon.control("flow", "retry", "/till/orders/1")
            #expect(over.exitCode == 1 && over.errors.contains("the flow /till/orders/1 is over: it's unwound"), "\(over)")
        }
    }

    @Test("What there isn't is said with what to do, and changes nothing")
    func refused() async throws {
        try await Self.run { daemon in
            try await daemon.eventually("the flows are there") { try await daemon.node("/till").flows.map { $0.open + $0.parked } == 3 }
            for (arguments, code, complaint) in [
                (["flow", "/till/orders/9"], 4, "no store of flows has one at /till/orders/9"),
                (["flow", "retry", "/other"], 4, "no store of flows has one at /other"),
                (["flow", "retry", "/nowhere/1"], 4, "no store of flows has one at /nowhere/1"),
                (["flow", "undo", "/till/orders/1"], 64, "there is no command 'undo'"),
                (["flows", "--limit", "0"], 64, "--limit is a number of at least 1"),
                (["flows", "/nowhere"], 4, "there is no coordinator at /nowhere"),
            ] as [([String], Int32, String)] {
                let ended = try await daemon.control(arguments)
                #expect(ended.exitCode == code && ended.errors.contains(complaint), "\(arguments): \(ended)")
            }
        }
    }
}
