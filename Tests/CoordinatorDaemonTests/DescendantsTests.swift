import Control
import Glibc
import Processes
import TestSupport
import Testing

/// The end of processes that the daemon's children fork, with those children and with the daemon.
@Suite("coordinatord and what its children fork", .timeLimit(minutes: 3))
struct DaemonDescendantsTests {
    private static let supervision = "supervision: { max_restarts: 1000, period: 1s, backoff: { minimum: 1ms, maximum: 1ms } }"

    private static func program(_ key: String, _ command: [String]) -> String {
        let arguments = command.map { "\"\($0)\"" }.joined(separator: ", ")
        return "  - name: \(key)\n    program: { command: [\(arguments)] }\n"
    }

    @Test("kill -9 of a daemon that keeps no programs, and the next one at once: no orphan, and no path that lives twice", arguments: 1...3)
    func killed(_ round: Int) async throws {
        let sleepers = Sleepers.Kind.allCases.map { (kind: $0, sleepers: Sleepers()) }
        defer { for (_, sleepers) in sleepers { sleepers.end() } }
        let children = sleepers.map { Self.program($0.kind.rawValue, $0.sleepers.command($0.kind)) }.joined()
            .replacing("program: {", with: "program: { on_daemon_loss: end,")
        try await RunningDaemon.with("children:\n\(children)\(Self.supervision)\n") { daemon in
            var process = daemon.process
            for _ in 0..<3 {
                for (kind, sleepers) in sleepers {
                    try await eventually("\(kind) sleeps") { sleepers.living.count == 1 }
                }
                let former = sleepers.flatMap(\.sleepers.living)
                #expect(former.count == sleepers.count)
                try process.send(.kill)
                _ = await process.waitForExit()
                process = try await daemon.startNext()
                for (kind, sleepers) in sleepers {
                    try await eventually("\(kind) sleeps again") {
                        let living = sleepers.living
                        // The next life, and never beside the former.
                        #expect(living.count <= 1)
                        return living.contains { !former.contains($0) }
                    }
                }
                #expect(former.filter(\.isAlive).isEmpty)
            }
            _ = await process.terminate(grace: .patient(.seconds(10)))
            for (kind, sleepers) in sleepers { #expect(sleepers.living.isEmpty, "\(kind)") }
        }
    }

    @Test("A program that leaves its group and fails again and again leaves one descendant at most, no zombie, and at the end nothing")
    func flapping() async throws {
        let sleepers = Sleepers()
        defer { sleepers.end() }
        // The second leaves on purpose while the program lives on.
        let flapping = ["sh", "-c", "setsid sleep \(sleepers.seconds) & sleep 0.05; exit 1"]
        let leaving = ["sh", "-c", "setsid sh -c 'sleep 0.01 & exit 0'; (setsid true &); sleep 0.1; exit 1"]
        let tree = "children:\n\(Self.program("a", flapping))\(Self.program("b", leaving))\(Self.supervision)\n"
        try await RunningDaemon.with(tree) { daemon in
            try await daemon.eventually("it has failed often") { try await daemon.node("/a").restarts >= 20 }
            #expect(sleepers.living.count <= 1)
            let pid = daemon.process.identity.processID
            try await daemon.eventually("no zombie is left") {
                let children = Files.numbers(in: "/proc/\(pid)/task").flatMap { task in
                    (Files.text(of: "/proc/\(pid)/task/\(task)/children") ?? "").split(separator: " ")
                }
                return !children.contains { Files.text(of: "/proc/\($0)/stat")?.contains(") Z ") == true }
            }
            #expect(try await daemon.control("shutdown").exitCode == 0)
            #expect(sleepers.living.isEmpty)
            #expect(await daemon.process.waitForExit() == .exited(code: 0))
        }
    }
}
