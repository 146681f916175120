import Coordinators
import DaemonConfiguration
import Logging
import WireProtocol

/// The root of the daemon's tree: it reads its children from a file. Otherwise it's a coordinator like any other.
actor DaemonCoordinator: Coordinator {
    typealias Configuration = ConfiguredChildren

    static let responders: [Responder<DaemonCoordinator>] = [
        .lifecycle { me, child, change in me.note(change, of: child.path.key) }
    ]

    nonisolated let context: Context<DaemonCoordinator>
    private let configuration: ConfiguredChildren

    init(_ context: Context<DaemonCoordinator>, _ configuration: ConfiguredChildren) {
        self.context = context
        self.configuration = configuration
    }

    /// Requests all children's starts in the file's order, and waits for none: one that can't start is retried, and the others live.
    func run() async throws {
        configuration.attach { [weak self] child in try await self?.attempt(child) }
        let starts = configuration.children.map { child in
            // Requested here and now, in order; the order of the stops is the reverse.
            Task.immediate { await self.start(child) }
        }
        for start in starts { await start.value }
        let (forever, _) = AsyncStream<Never>.makeStream()
        for await _ in forever {}
    }

    private func note(_ change: LifecycleChange, of key: String) {
        switch change {
        case .started, .restarted: configuration.note(nil, of: key)
        case .stopped(let reason), .crashed(let reason), .startFailed(let reason), .gaveUp(let reason):
            configuration.note("\(reason)", of: key)
        case .paused, .resumed: break
        }
    }

    private func attempt(_ child: ConfiguredChild) async throws {
        do {
            try await begin(child)
        } catch let error as CoordinatorError {
            // Who has asked for a start learns by return that it has failed, and by no event.
            configuration.note(error.message, of: child.key)
            throw error
        }
    }

    private func begin(_ child: ConfiguredChild) async throws {
        switch child.content {
        case .worker(let worker):
            try await context.start(
                worker: worker.coordinator,
                as: child.key,
                executable: worker.executable,
                environment: worker.environment,
                directory: worker.directory,
                configuration: worker.configuration ?? [:],
                restart: child.restart,
                shutdown: child.shutdown,
                restartLimits: child.restartLimits,
                retriesFirstStart: true
            )
        case .program(let program):
            try await context.start(
                program: .init(command: program.command, environment: program.environment, directory: program.directory),
                as: child.key,
                restart: child.restart,
                shutdown: child.shutdown,
                restartLimits: child.restartLimits,
                retriesFirstStart: true
            )
        }
    }

    private func start(_ child: ConfiguredChild) async {
        do {
            try await attempt(child)
        } catch {
            // What became of a life is in the log already.
            let isRefusal = [.invalidKey, .invalidSpecification, .keyInUse].contains((error as? CoordinatorError)?.code)
            context.logger.log(
                level: isRefusal ? .error : .debug,
                "a child could not be started",
                metadata: ["child.key": "\(child.key)", "error": "\(error)"]
            )
        }
    }
}
