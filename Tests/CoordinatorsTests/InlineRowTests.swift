import Coordinators
import CoordinatorsTesting
import Fixtures
import TestSupport
import Testing

@Suite("Inline rows on the thread that reads a link")
struct InlineRowTests {
    @Test("A row that holds up its link is logged once")
    func slowRow() async throws {
        let log = RecordedLog()
        try await withRuntime(DawdlingRoot.self, options: Support.options.with { $0.logger = log.logger }) { runtime in
            for text in ["a", "b", "c"] { #expect(try await runtime.perform(.echo(text), at: "/leaf") == text) }
            try await eventually("it's logged") { log.lines.contains { $0.contains("an inline row is slow") } }
            let lines = log.lines.filter { $0.contains("an inline row is slow") }
            #expect(lines.count == 1)
            #expect(lines[0].contains("message.name=Fixture.Echo") && lines[0].contains("coordinator.path=/"))
        }
    }

    @Test("A failing one-way message for an inline row is a dead letter")
    func deadLetter() async throws {
        try await withRuntime(DawdlingRoot.self, options: Support.options) { runtime in
            #expect(try await runtime.perform(.sendNotes(2), at: "/leaf") == "sent")
            try await eventually("both are counted") { runtime.deadLetters.count == 2 }
            #expect(runtime.deadLetters.letters.allSatisfy { $0.name == "Fixture.Note" && $0.target == "/" && $0.sender == "/leaf" })
        }
    }
}

/// Answers inline and slowly, and refuses notes.
private actor DawdlingRoot: Coordinator {
    nonisolated let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .inline(Fixture.Echo.self) { _, echo in
            realTimeOfThread(.milliseconds(30), because: "the time for which a row holds up its link is measured")
            return echo.text
        },
        .inline(Fixture.Note.self) { _, _ in throw Fixture.Refusal("no notes") },
    ]

    func start() async throws {
        try await context.start(MiddleCoordinator.self, as: "leaf", in: .worker) { $0.greeting = "leaf" }
    }
}
