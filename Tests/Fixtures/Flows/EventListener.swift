public import Coordinators

/// Listens, from its own process, to a coordinator somewhere else in the tree.
public actor EventListener: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var subject = "/"
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) }
    ]

    public func start() async throws {
        guard let subject = CoordinatorPath(configuration.subject) else { throw Fixture.Refusal("'\(configuration.subject)' is no path") }
        let events = try await context.events(of: StepCoordinator.self, at: subject)
        context.task { [context, notebook] in
            // However it ends.
            defer { notebook.note(context.path, "heard the end") }
            for try await event in events { notebook.note(context.path, "heard \(event)") }
        }
    }
}
