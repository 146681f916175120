import ConcurrencySupport
import CoordinatorsTesting
import TestSupport
import Testing

@testable import Coordinators

/// A child whose start takes until the gate is open.
private actor Section: Coordinator {
    static let gate = OneShot<Void>()

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func start() async throws { await Self.gate.value }
}

private actor Tabs: TabCoordinator {
    struct Select: ResponderMessage { var key: String }

    static let cancellationGrace = Duration.milliseconds(100)

    static let responders: Responders = [.respond(to: Select.self) { me, select in try await me.context.select(select.key) }]

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func open(section key: String) async throws { try await context.start(Section.self, as: key) }
}

@Suite("The turns of selections", .timeLimit(.minutes(2)))
struct TabTurnTests {
    @Test("A selection that waits for its turn isn't stuck when it's given up, and isn't made")
    func waiting() async throws {
        try await withRuntime(Tabs.self, options: Support.options) { runtime in
            let root = try runtime.root
            defer { Section.gate.settle(()) }
            try await runtime.send(Tabs.Select(key: "a"))
            try await eventually("the first begins") { root.existingChildren?.lives("a") == true }
            await #expect(throws: CoordinatorError.self) { try await runtime.ask(Tabs.Select(key: "b"), timeout: .milliseconds(100)) }
            for _ in 0..<20 {
                #expect(!root.isStuck)
                try await realTime(.milliseconds(50), because: "the verdict comes by the clock")
            }
            Section.gate.settle(())
            let context = Tabs.Context(cell: root)
            try await eventually("the first is selected") { context.selected == "a" }
            try await eventually("no handler is left") { !root.hasMessages }
            #expect(root.existingChildren?.lives("b") != true && context.selected == "a")
        }
    }
}
