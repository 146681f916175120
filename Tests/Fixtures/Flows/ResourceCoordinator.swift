public import Coordinators

/// Owns exactly one lamp.
public actor ResourceCoordinator: SceneCoordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var notebook = Notebook()
        public var refuses = false
        public init() {}
    }

    public struct IsLit: ResponderMessage {
        public typealias Reply = Bool
        public init() {}
    }

    public struct BurnOut: ResponderMessage {
        public init() {}
    }

    public nonisolated let context: Context
    public nonisolated let scene: Lamp
    private let configuration: Configuration

    public init(_ context: Context) {
        self.context = context
        configuration = context.configuration
        scene = Lamp(context.configuration.notebook, context.path)
    }

    public static let responders: Responders = [
        // The scene is typed, and needs no await.
        .respond(to: IsLit.self) { me, _ in me.scene.isLit },
        .respond(to: BurnOut.self) { me, _ in me.scene.burnOut() },
    ]

    public func start() async throws {
        if configuration.refuses { throw Fixture.Refusal("won't start") }
        configuration.notebook.note(context.path, "start")
    }

    public func stopped() async { configuration.notebook.note(context.path, "stop") }
}
