import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

private struct Hang: ResponderMessage {}

/// Neither its handler nor its hook minds being cancelled.
private actor Stubborn: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Hang.self) { _, _ in await Stubborn.hang() }
    ]

    func stopped() async { await Self.hang() }

    private static func hang() async { await OneShot<Void>().value }
}

private actor Keeper: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws { try await context.start(Stubborn.self, as: "stubborn", shutdown: .timeout(.seconds(8))) }
}

@Suite("The grace of a stop", .timeLimit(minutes: 5))
struct GraceTests {
    @Test("Handlers and the stop hook share one grace")
    func shared() async throws {
        // Twice the grace would be sixteen seconds, whatever else the machine does.
        try await expectPromptly(within: .seconds(15.5)) {
            var time = Duration.zero
            try await withRuntime(Keeper.self) { runtime in
                // Begun when it returns: its coordinator is idle, and the ask is on its way at once.
                #expect(try await runtime.send(Hang(), at: "/stubborn"))
                let began = MachineClock.now
                try await runtime.stop("/stubborn")
                time = MachineClock.now - began
                #expect(try await runtime.snapshot(of: "/stubborn").lastExit == .stopTimedOut)
            }
            return time
        }
    }
}
