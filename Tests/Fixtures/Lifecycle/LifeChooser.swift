public import Coordinators

/// A coordinator whose start chooses the child: the login, or what comes after it.
public actor LifeChooser: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var isLoggedIn = false
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: Fixture.Fail.self) { me, _ in me.context.fail(Fixture.Refusal("told to fail")) },
    ]

    public func start() async throws {
        try await context.start(SmallestCoordinator.self, as: configuration.isLoggedIn ? "main" : "login")
    }
}
