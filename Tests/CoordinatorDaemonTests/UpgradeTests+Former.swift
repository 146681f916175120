import Control
import Glibc
import Processes
import TestSupport
import Testing
import WireProtocol

/// An upgrade from a daemon of a former build, with workers of that build; `Tests/former` builds one and runs this.
extension UpgradeTests {
    /// The directory with the executables of the former build.
    private static let former = getenv("COORDINATORS_TEST_FORMER").map { String(cString: $0) }

    private static let formerTree = """
        children:
        \(keptByEachBuild)
          - name: piper
            program: { command: [sh, -c, 'echo >&3; exec sleep 1000'], ready: { fd: 3 } }
          - name: group
            children:
              - { name: resting, program: { command: [sleep, "1000"] } }
              - { name: paused, program: { command: [sleep, "1000"] } }
          - name: once
            oneshot: { command: ["true"] }
        supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 10ms } }
        orphan_grace: 60s
        """

    @Test(
        "to the present build under load keeps what a former one has, and the present one can be replaced by it again",
        .enabled(if: former != nil, "COORDINATORS_TEST_FORMER names a directory with coordinatord, coordinatorctl and FixtureWorker")
    )
    func former() async throws {
        let former = try #require(Self.former)
        try await RunningDaemon.with(Self.formerTree, from: former) { daemon in
            try await daemon.eventually("everything runs") {
                let answers = try await daemon.answers()
                return answers.states == [
                    "/": "active", "/app": "active", "/app/a": "active", "/app/b": "active", "/other": "active", "/counter": "active",
                    "/piper": "active", "/group": "active", "/group/resting": "active", "/group/paused": "active", "/once": "inactive",
                ]
            }
            try await daemon.call(.stop(path: "/group/resting"))
            try await daemon.call(.pause(path: "/group/paused"))
            let before = try await daemon.answers()
            // The command of either build asks the daemon of either build.
            var loads: [(output: Transcript, process: ChildProcess)] = []
            for command in ["\(former)/coordinatorctl", BuiltProgram("coordinatorctl").path] {
                let output = Transcript()
                var specification = daemon.controlSpecification(
                    ["bench", "/app", "Fixture.Add", #"{"amount":1}"#, "--rate", "100", "--ramp", "0s", "--duration", "600s", "--json"],
                    standardOutput: output.destination
                )
                specification.executable = command
                loads.append((output, try await ProcessSpawner.shared.spawn(specification)))
            }
            for executable in [RunningDaemon.coordinatord.path, "\(former)/coordinatord", RunningDaemon.coordinatord.path] {
                let asked = try await daemon.add(0, to: "/app")
                try await daemon.eventually("asks are answered") { try await daemon.add(0, to: "/app") > asked + 50 }
                let result = try await daemon.upgrade("--executable", executable)
                #expect(result.restarted == [] && !result.endedAsks, "\(executable)")
                #expect(result.kept == ["/app", "/counter", "/group/paused", "/other", "/piper"])
                // It was stopped; an alert tells of what has ended by itself.
                #expect(try await daemon.node("/group/resting").hasEnded == nil, "\(executable)")
                print("upgrade to \(executable): pause \(result.pauseMilliseconds) ms")
            }
            let asked = try await daemon.add(0, to: "/app")
            try await daemon.eventually("asks are answered") { try await daemon.add(0, to: "/app") > asked + 50 }
            try await realTime(.seconds(6), because: "an ask that was lost has failed after the five seconds that it has")
            for (_, process) in loads { try process.send(.interrupt) }
            for (output, process) in loads {
                _ = await process.waitForExit()
                let load = try ControlJSON.parse(Array(output.text.utf8))["loads"]?[0]
                let (due, answered) = (load?["due"]?.integerValue ?? 0, load?["answered"]?.integerValue ?? 0)
                print("load: \(due) due, \(answered) answered")
                #expect(load?["errors"] == [] && answered > 500 && due - answered <= 200, "\(output.text)")
            }
            let after = try await daemon.answers()
            #expect(after.all == before.all)
            #expect(try await daemon.add(0, to: "/app") > 500)
            try await daemon.call(.resume(path: "/group/paused"))
            try await daemon.call(.start(path: "/group/resting"))
            #expect(try await daemon.node("/group/resting").incarnation == 2)
            try await daemon.endLeavingNothing(daemon.process)
        }
    }
}

/// The answers of a daemon without what time changes.
private struct Answers {
    var states: [String: String] = [:]
    var all: [String: JSONValue] = [:]

    /// What the time or the load changes, and what a daemon begins anew: a group's life is the daemon's.
    private static func steady(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(steady))
        case .object(var members):
            for key in ["uptime_ms", "memory_bytes", "process_count", "mailbox", "hung"] { members[key] = nil }
            if members["type"] == "GroupCoordinator" { members["incarnation"] = nil }
            // The numbers of lives of what has ended, and that it has, are the present build's.
            if members["state"] == "inactive" { (members["incarnation"], members["ended"]) = (nil, nil) }
            return .object(members.mapValues(steady))
        default: return value
        }
    }

    private mutating func visit(_ node: JSONValue) {
        states[node["path"]?.stringValue ?? ""] = node["state"]?.stringValue
        if case .array(let children)? = node["children"] { for child in children { visit(child) } }
    }

    init(_ answers: [String: JSONValue]) {
        all = answers.mapValues(Self.steady)
        if let tree = answers["tree"] { visit(tree) }
    }
}

extension RunningDaemon {
    /// The JSON of the commands that show the tree.
    fileprivate func answers() async throws -> Answers {
        var answers: [String: JSONValue] = [:]
        for arguments in [["tree"], ["status", "/app"], ["status", "/counter"], ["status", "/group"], ["ps"]] {
            // The status isn't 0 when a child is inactive.
            let output = try await control(arguments + ["--json"]).output
            answers[arguments.joined(separator: " ")] = try ControlJSON.parse(Array(output.utf8))
        }
        return Answers(answers)
    }
}
