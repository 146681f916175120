public import Coordinators

/// Owns exactly one lamp.
public actor ResourceCoordinator: SceneCoordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var notebook = Notebook()
        public init() {}
    }

    public struct IsLit: ResponderMessage {
        public typealias Reply = Bool
        public init() {}
    }

    public struct BurnOut: ResponderMessage {
        public init() {}
    }

    public nonisolated let context: Context<ResourceCoordinator>
    public nonisolated let scene: Lamp
    private let configuration: Configuration

    public init(_ context: Context<ResourceCoordinator>, _ configuration: Configuration) {
        self.context = context
        self.configuration = configuration
        scene = Lamp(configuration.notebook, context.path)
    }

    public static let responders: [Responder<ResourceCoordinator>] = [
        // The scene is typed, and needs no await.
        .respond(to: IsLit.self) { me, _ in me.scene.isLit },
        .respond(to: BurnOut.self) { me, _ in me.scene.burnOut() },
    ]

    public func start() async throws { configuration.notebook.note(context.path, "start") }
    public func stop() async { configuration.notebook.note(context.path, "stop") }
}
