import Control
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("A daemon whose descriptors run out", .timeLimit(minutes: 3), .serialized)
struct DescriptorTests {
    static let tree = """
        children:
          - name: sleeper
            program: { command: [sleep, "1000"] }
          - name: app
            worker: { executable: FIXTURE, coordinator: RootCoordinator, configuration: { children: [a], placement: inProcess } }
        supervision: { max_restarts: 100000, period: 1s, backoff: { minimum: 10ms, maximum: 100ms } }
        """

    @Test("Silent and idle connections never end the daemon, and an operator gets in", arguments: [56, 64, 256, 1024])
    func connections(_ limit: Int) async throws {
        try await RunningDaemon.with(Self.tree, descriptorLimit: limit) { daemon in
            try await daemon.eventually("all is active") { try await daemon.tree().children.allSatisfy { $0.state == "active" } }
            let crowd = try Crowd(at: "\(daemon.directory)/run/control.sock", count: limit + 60, greets: true)
            // While they are held, for longer than Dispatch takes to look at its threads.
            let end = ContinuousClock.now + .seconds(rounds(short: 2, all: 4, long: 4))
            var hasKilled = false
            while ContinuousClock.now < end {
                let printed = try await daemon.control("tree")
                #expect(printed.exitCode == 0, "\(printed.errors)")
                if !hasKilled { #expect(try await daemon.control("kill", "/sleeper").exitCode == 0) }
                hasKilled = true
            }
            // With 56 descriptors there is room for a spawn only when the silent connections have been closed.
            try await daemon.eventually("it's back") {
                let sleeper = try await daemon.node("/sleeper")
                return sleeper.incarnation > 1 && sleeper.state == "active"
            }
            #expect(daemon.process.identity.isAlive)
            crowd.leave()
            #expect(try await daemon.control("shutdown").exitCode == 0)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
        }
    }
}
