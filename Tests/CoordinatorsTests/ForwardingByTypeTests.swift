import Coordinators
import CoordinatorsTesting
import Testing

/// Rows that hand messages on to the first child of a type.
@Suite("Forwarding to a type")
struct ForwardingByTypeTests {
    private struct Say: ResponderMessage { typealias Reply = String }

    private struct Hire: ResponderMessage { var name: String }

    private actor Speaker: Coordinator {
        static let responders: Responders = [.respond(to: Say.self) { me, _ in me.context.path.key }]

        let context: Context

        init(_ context: Context) { self.context = context }
    }

    private actor Agency: Coordinator {
        static let responders: Responders = [
            .respond(to: Hire.self) { me, hire in try await me.context.start(Speaker.self, as: hire.name) },
            .forward(Say.self, to: Speaker.self),
        ]

        let context: Context

        init(_ context: Context) { self.context = context }
    }

    @Test("A message goes to the first child of the type, and fails without one")
    func first() async throws {
        try await withRuntime(Agency.self) { runtime in
            await expect(.noSuchChild) { try await runtime.ask(Say()) }
            for name in ["ann", "bob"] { try await runtime.ask(Hire(name: name)) }
            #expect(try await runtime.ask(Say()) == "ann")
        }
    }
}
