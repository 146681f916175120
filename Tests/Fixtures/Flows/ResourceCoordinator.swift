public import Coordinators

/// Owns exactly one lamp.
public actor ResourceCoordinator: SceneCoordinator {
    public struct Configuration: NotingConfiguration {
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

    public init(_ context: Context) {
        self.context = context
        scene = Lamp(context.configuration.notebook, context.path)
    }

    public static let responders: Responders = [
        // The scene is typed, and needs no await.
        .respond(to: IsLit.self) { me, _ in me.scene.isLit },
        .respond(to: BurnOut.self) { me, _ in me.scene.burnOut() },
    ]

    public func start() async throws {
        if configuration.refuses { throw Fixture.Refusal("won't start") }
        note("start")
    }

    public func stopped() async { note("stop") }
}
