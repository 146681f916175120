import Coordinators
import DaemonConfiguration
import Logging
import WireProtocol

/// The root of the daemon's tree, whose children are those of the configuration file.
actor DaemonCoordinator: Coordinator {
    typealias Configuration = ConfiguredChildren

    static let responders: Responders = [
        .lifecycle { me, child, change in me.note(change, of: child.path.key) }
    ]

    nonisolated let context: Context
    private let configuration: ConfiguredChildren

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    /// Starts all children in the file's order without waiting for one before the next: a child that can't start is retried.
    func run() async throws {
        configuration.attach { [weak self] child in try await self?.attempt(child) }
        let starts = configuration.children.map { child in
            // An immediate task requests its start before the next is made, so that the order of the starts, and of the stops in
            // reverse, is the file's. Each ends with the tree at the latest and isn't cancelled.
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
            // The caller gets the failure, and no event reports it.
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
            // Supervision has logged the failure of a life already.
            let isRefusal = [.invalidKey, .invalidSpecification, .keyInUse].contains((error as? CoordinatorError)?.code)
            context.logger.log(
                level: isRefusal ? .error : .debug,
                "a child could not be started",
                metadata: ["child.key": "\(child.key)", "error": "\(error)"]
            )
        }
    }
}
