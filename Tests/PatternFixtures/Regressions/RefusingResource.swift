public import Coordinators

/// Owns a lamp, and won't start.
public actor RefusingResource: SceneCoordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var notebook = Notebook()
        public init() {}
    }

    public nonisolated let context: Context<RefusingResource>
    public nonisolated let scene: Lamp
    private let configuration: Configuration

    public init(_ context: Context<RefusingResource>, _ configuration: Configuration) {
        self.context = context
        self.configuration = configuration
        scene = Lamp(configuration.notebook, context.path)
    }

    public func start() async throws { throw Flow.Refused("won't start") }
    public func stop() async { configuration.notebook.note(context.path, "stop") }
}
