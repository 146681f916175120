public import Coordinators

/// Exactly one of its tabs is active.
public actor TabsCoordinator: TabCoordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var inWorker = false
        public init() {}
    }

    public struct Select: ResponderMessage {
        public var key: String
        public init(_ key: String) { self.key = key }
    }

    /// The selected tab, "none" if there is none.
    public struct Selected: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 1_000, period: .seconds(1), backoff: .none)

    public static let responders: Responders = [
        .respond(to: Select.self) { me, select in try await me.context.select(select.key) },
        .respond(to: Selected.self) { me, _ in me.context.selected ?? "none" },
    ]

    public func open(section key: String) async throws {
        note("startTab \(key)")
        guard key != "missing" else { throw Fixture.Refusal("there is no such tab") }
        let inner = StepCoordinator.Configuration(configuration.notebook)
        _ = try await context.startStep(FixtureFlow.StartStep(key, inWorker: configuration.inWorker, inner))
    }
}
