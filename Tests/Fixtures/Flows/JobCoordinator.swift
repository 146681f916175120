public import Coordinators

/// Does jobs in its `run` hook, each of which ends when the notebook says "go on".
public actor JobCoordinator: Coordinator {
    public enum Hook: String, Codable, Sendable, CaseIterable {
        /// One job, and no look at a drain.
        case job
        /// Waits for a job that never comes until a drain begins, and does one more then.
        case lastJob
        /// Goes on until it's cancelled.
        case forever
    }

    public struct Configuration: CoordinatorConfiguration {
        public var notebook = Notebook()
        public var hook = Hook.job
        /// Whether the end of the hook is that of the coordinator.
        public var finishes = false
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public func run() async throws {
        note("begins")
        do {
            switch configuration.hook {
            case .job: try await configuration.notebook.wait(for: "go on")
            case .lastJob:
                let job: Int? = try await context.cancelWhenDraining {
                    try await Fixture.untilCancelled()
                    return 1
                }
                note(job == nil && context.draining.hasBegun ? "drains" : "got \(String(describing: job))")
                try await configuration.notebook.wait(for: "go on")
            case .forever: try await Fixture.untilCancelled()
            }
            note("ends")
        } catch {
            note("is cancelled")
            throw error
        }
        if configuration.finishes { context.finish() }
    }

    private func note(_ words: String) { configuration.notebook.note(context.path, words) }
}
