import Control
import TestSupport
import Testing
import WireProtocol

extension UpgradeTests {
    private static let talkers = """
        children:
          - { name: app, worker: { executable: FIXTURE, coordinator: RootCoordinator } }
          - { name: other, worker: { executable: FIXTURE, coordinator: MiddleCoordinator } }
        orphan_grace: 60s
        """

    @Test("has the workers keep what they send upwards, so that it needn't wait and none is lost; one that is refused lets them go on")
    func upwards() async throws {
        try await RunningDaemon.with(Self.talkers) { daemon in
            try await daemon.allActive()
            let before = try await daemon.allPIDs()
            // Some are open at any time.
            #expect(try await daemon.perform(["subscribeForEver": ["_0": "/app", "tasks": 3]]) == "begun")
            func subscriptions() async throws -> (count: Int, failures: [String]) {
                let parts = try await daemon.perform(["subscriptions": [:]]).split(separator: "; ").map(String.init)
                return (parts.first.flatMap { Int($0) } ?? -1, Array(parts.dropFirst()))
            }
            for round in 1...4 {
                let count = try await subscriptions().count
                try await daemon.eventually("they are answered") { try await subscriptions().count > count + 100 }
                if round == 4 {
                    // It passes all examinations, and isn't executable any more when it's to be run.
                    let script = "\(daemon.directory)/once"
                    let command = "exec \(RunningDaemon.coordinatord.path) \"$@\""
                    try Files.write("#!/bin/sh\n[ $1 = --rehearse ] && rm -f '\(script)'\n\(command)\n", to: script, mode: 0o700)
                    let refused = try await daemon.control("upgrade", "--executable", script)
                    #expect(refused.exitCode == 1 && refused.errors.contains("goes on as before"), "\(refused)")
                } else {
                    // Less than the time after which messages that are held get a chance, and are held again.
                    let result = try await daemon.upgrade("--wait", "1500ms")
                    #expect(!result.endedAsks, "\(result)")
                }
            }
            let count = try await subscriptions().count
            try await daemon.eventually("they are answered") { try await subscriptions().count > count + 100 }
            let failures = try await subscriptions().failures
            #expect(failures == [])
            #expect(try await daemon.allPIDs() == before)
        }
    }
}

extension RunningDaemon {
    /// Has the worker `other` do something.
    fileprivate func perform(_ action: JSONValue) async throws -> String {
        let answer = try await call(.ask(path: "/other", message: "Fixture.Do", payload: ["action": action], timeout: .seconds(30)))
        guard case .string(let text)? = answer["reply"] else { return "\(answer)" }
        return text
    }
}
