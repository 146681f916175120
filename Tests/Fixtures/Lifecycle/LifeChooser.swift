public import Coordinators

/// A coordinator whose start chooses the child: the login, or what comes after it.
public actor LifeChooser: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var isLoggedIn = false
        public init() {}
    }

    /// Makes it fail, so that it has to choose anew.
    public struct Fail: ResponderMessage {
        public init() {}
    }

    public nonisolated let context: Context
    private let configuration: Configuration

    public init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    public static let responders: Responders = [
        .respond(to: WhereAmI.self) { me, _ in .here(me.context) },
        .respond(to: Fail.self) { me, _ in me.context.fail(Life.Refusal("told to fail")) },
    ]

    public func start() async throws {
        try await context.start(LifeBare.self, as: configuration.isLoggedIn ? "main" : "login")
    }
}
