import Control
import Processes
import TestSupport
import Testing

@Suite("Operators' commands and the times of children", .timeLimit(minutes: 2))
struct PatienceTests {
    /// A program that takes its time to stop: until there is a file of its name and its number.
    private static func child(_ name: String, _ number: Int) -> String {
        let script = "trap : TERM; touch DIR/\(name)$N; until test -e DIR/\(name)$N.end; do sleep 0.05; done"
        return #"  - { name: \#(name), stop_timeout: 90s, program: { command: [sh, -c, "\#(script)"], environment: { N: "\#(number)" } } }"#
    }

    @Test("A change, a stop and a shutdown wait as long as a child may take to stop, and say so; none fails meanwhile")
    func stops() async throws {
        let directory = try TemporaryDirectory()
        let tree = { (number: Int) in
            "children:\n\(Self.child("changed", number))\n\(Self.child("stopped", 1))\n".replacing("DIR", with: directory.path)
        }
        try await RunningDaemon.with(tree(1)) { daemon in
            func hasBegun(_ name: String) async throws {
                try await daemon.eventually("\(name) runs") { Files.names(in: directory.path).contains(name) }
            }
            func end(_ name: String) throws { try Files.write("", to: directory.file("\(name).end")) }
            try await hasBegun("changed1")
            try await hasBegun("stopped1")
            try daemon.rewrite(tree(2))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (arguments, name) in [(["config", "apply"], "changed"), (["stop", "/stopped"], "stopped")] {
                    group.addTask {
                        try await Self.waiting(daemon, arguments, for: "/\(name) (stopping for") {
                            // The old patience was ten seconds.
                            if TestTier.current != .short { try await realTime(.seconds(11), because: "a child takes its time to stop") }
                            try end("\(name)1")
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await hasBegun("changed2")
            #expect(try await daemon.node("/changed").incarnation == 2)
            #expect(try await daemon.node("/stopped").state == "inactive")
            try await Self.waiting(daemon, ["shutdown"], for: "/changed (stopping for") { try end("changed2") }
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
        }
    }

    /// Runs a command, and something once it says what it waits for; the command succeeds after that.
    private static func waiting(_ daemon: RunningDaemon, _ arguments: [String], for text: String, _ then: () async throws -> Void)
        async throws
    {
        let (output, errors) = (Transcript(), Transcript())
        let command = daemon.controlSpecification(arguments, standardOutput: output.destination, standardError: errors.destination)
        let process = try await ProcessSpawner.shared.spawn(command)
        try await daemon.eventually("\(arguments) tells that it waits for \(text)") { errors.text.contains("waiting for \(text)") }
        #expect(errors.text.contains(" of 1m30s"), "\(errors.text)")
        try await then()
        #expect(await process.waitForExit() == .exited(code: 0), "\(arguments): \(output.text)\(errors.text)")
        #expect(!(output.text + errors.text).contains("failed"))
    }
}
