public import Coordinators

/// A coordinator whose pause hook outlasts every grace and ignores its cancellation.
public actor StubbornPauser: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var notebook = Notebook()
        public var isStubborn = true
        public init() {}
    }

    public nonisolated let context: Context
    private let configuration: Configuration

    public init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    public static let responders: Responders = [
        .respond(to: WhereAmI.self) { me, _ in .here(me.context) }
    ]

    public func paused() async {
        configuration.notebook.note(context.path, "pausing")
        // A task of its own, which isn't cancelled.
        if configuration.isStubborn { await Task { try? await Task.sleep(for: .seconds(60)) }.value }
        configuration.notebook.note(context.path, "paused")
    }
}
