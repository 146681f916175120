import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

/// Workers that are killed while they're born: while they load, dial, or prove their identity.
@Suite("Workers that are killed at once", .timeLimit(minutes: 5))
struct SpawnWindowTests {
    private static let workers = rounds(short: 60, all: 300, long: 3_000)
    private static let atOnce = 6

    @Test("After many workers that were killed a few milliseconds after their spawns, a worker starts within a second")
    func killedAtOnce() async throws {
        try await withRuntime(StarterRoot.self, options: Support.options) { runtime in
            var generator = SeededGenerator()
            let delays = (0..<Self.workers).map { number in
                // The first ten milliseconds; every third within the first fifty, since this worker isn't optimised and starts slowly.
                Int.random(in: 0..<(number % 3 == 0 ? 50_000 : 10_000), using: &generator)
            }
            for first in stride(from: 0, to: Self.workers, by: Self.atOnce) {
                let answers = try await withThrowingTaskGroup(of: String.self) { group in
                    for number in first..<min(first + Self.atOnce, Self.workers) {
                        group.addTask { try await Self.startAndKill(number, after: delays[number], in: runtime) }
                    }
                    return try await group.reduce(into: [String]()) { $0.append($1) }
                }
                // One that was ready before its time had come is no failure.
                #expect(answers.allSatisfy { $0 == "started" || $0.contains("signal 9") }, "\(answers)")
            }
            var number = 0
            try await expectPromptly(within: .patient(.seconds(1))) {
                number += 1
                let begin = MachineClock.now
                let answer = try await runtime.ask(
                    StarterRoot.StartWorker("clean\(number)", Support.worker.path),
                    timeout: .patient(.seconds(30))
                )
                #expect(answer == "started")
                return MachineClock.now - begin
            }
        }
    }

    /// Starts a worker that kills itself after so many microseconds, wherever it is then.
    private static func startAndKill(_ number: Int, after microseconds: Int, in runtime: CoordinatorRuntime) async throws -> String {
        let seconds = "0." + String(String(1_000_000 + microseconds).dropFirst())
        // The shell becomes the worker, whose pid is the shell's. The killer doesn't hold the ticket's pipe.
        let script = "(exec 3<&-; sleep \(seconds); kill -9 $$) & exec \(Support.worker.path)"
        let start = StarterRoot.StartWorker("a\(number)", "/bin/sh", ["-c", script])
        let answer = try await runtime.ask(start, timeout: .patient(.seconds(60)))
        // It would be restarted, and kill itself, again and again.
        if answer == "started" { try await runtime.stop(CoordinatorPath.root.appending("a\(number)")) }
        return answer
    }
}
