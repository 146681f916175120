public import Coordinators

/// Owns a lamp, and won't start.
public actor RefusingResource: SceneCoordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var notebook = Notebook()
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

    public func start() async throws { throw Flow.Refused("won't start") }
    public func stopped() async { configuration.notebook.note(context.path, "stop") }
}
