public import Coordinators

/// Owns a navigation stack of its own for its subtree.
public actor StackCoordinator: NavigationCoordinator {
    public typealias Page = StepCoordinator.Page

    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var pagesAtStart: [Page] = []
        public init() {}
    }

    /// The paths on its own stack, bottom first.
    public struct Stack: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: FixtureFlow.StartStep.self) { me, start in try await me.context.startStep(start) },
        .respond(to: Stack.self) { me, _ in try await me.context.navigation().map { "\($0.path)" } },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
    ]

    public func start() async throws {
        for page in configuration.pagesAtStart { context.show(page) }
    }

    public func popped(to page: Page?) async { note("popped \(page.map { "\($0)" } ?? "nil")") }
}
