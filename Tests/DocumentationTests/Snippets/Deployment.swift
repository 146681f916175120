import Coordinators
import Logging

func optionsWithBootstrap() -> CoordinatorRuntime.Options {
    // snippet: bootstrap
    var options = CoordinatorRuntime.Options()
    options.bootstrap = { path in
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.metadata["process"] = "\(path)"
            return handler
        }
    }
    // end
    // snippet: jobs
    options.shutdown = .draining(.seconds(25))
    options.unreadyDelay = .seconds(3)
    // end
    return options
}

private struct Job: Sendable {}

private struct JobQueue: Sendable {
    func next() async throws -> Job { throw CancellationError() }
}

private actor JobCoordinator: Coordinator {
    let context: Context
    let queue = JobQueue()

    init(_ context: Context) { self.context = context }

    // snippet: job loop
    func run() async throws {
        let queue = queue
        // The wait for a job is cancelled when the drain begins, the job itself isn't.
        while let job = try await context.cancelWhenDraining({ try await queue.next() }) {
            try await perform(job)
        }
    }
    // end

    private func perform(_ job: Job) async throws {}
}

private actor JobsRoot: Coordinator {
    enum ChildKey: String, CoordinatorKey { case jobs }

    let context: Context

    init(_ context: Context) { self.context = context }

    func start() async throws {
        // snippet: jobs child
        try await context.start(JobCoordinator.self, as: .jobs, in: .worker, shutdown: .draining(.seconds(20)))
        // end
    }
}
