public import Coordinators

/// Ends by itself when the notebook says so.
public actor EndingCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public static let line = "the significant one ends"

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public func run() async throws { try await notebook.wait(for: Self.line) }
    public func stopped() async { note("stop") }
}

/// Has nothing left to do when its significant child has ended.
public actor AutoShutdownCoordinator: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var childInWorker = false
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let supervision = SupervisionPolicy(.oneForOne, intensity: 5, period: .seconds(60), autoShutdown: .anySignificant)

    public func start() async throws {
        let configuration = configuration
        note("start")
        try await context.start(StepCoordinator.self, as: "other", with: StepCoordinator.Configuration(configuration.notebook))
        try await context.start(
            EndingCoordinator.self,
            as: "significant",
            in: configuration.childInWorker ? .worker : .inProcess,
            restart: .transient,
            significant: true
        ) { $0.notebook = configuration.notebook }
    }

    public func stopped() async { note("stop") }
}
