import Logging
import Processes
import Synchronization

/// What all coordinators of one process share.
final class RuntimeCore: Sendable {
    let logger: Logger
    let registry = TypeRegistry()
    let deadLetters = DeadLetters()
    let tasks = OwnedTasks()
    let directory: RuntimeDirectory
    let hub: LinkHub
    let spawner: WorkerSpawner
    /// The way up, in a worker.
    let uplink: Uplink?
    /// How long the workers of this process may outlive it; zero: not at all.
    let orphanGrace: Duration
    /// How long a worker may give no sign of life.
    let hungAfter: Duration
    private let startTimeout: Duration
    private let rootPolicy: SupervisionPolicy?
    private let changes: (@Sendable (CoordinatorPath, LifecycleChange) -> Void)?

    init(_ options: CoordinatorRuntime.Options, uplink: Uplink? = nil) {
        logger = options.logger
        directory = RuntimeDirectory(options.runtimeDirectory)
        hub = LinkHub(directory: directory, tasks: tasks)
        spawner = WorkerSpawner(defaultExecutable: options.workerExecutable, output: options.workerOutput, spawner: .shared)
        orphanGrace = uplink == nil ? options.orphanGrace : .zero
        hungAfter = options.hungAfter
        startTimeout = options.startTimeout
        rootPolicy = options.supervision
        changes = options.childChanged
        self.uplink = uplink
        for type in options.coordinators { registry.register(type) }
        ResourceLimits.raiseOpenFiles()
        WorkerProcess.ignoreBrokenPipes()
    }

    /// The build that everything from here up has in common; none if there are several, and then upward messages are JSON.
    var upwardBuildID: String {
        guard let uplink else { return BuildID.current }
        return uplink.isCompact ? BuildID.current : ""
    }

    func policy(for node: Node) -> SupervisionPolicy {
        node.parent == nil && uplink == nil ? rootPolicy ?? node.type.policy : node.type.policy
    }

    /// Nobody is above the root of the whole tree: a child over its intensity fails there alone, and the others live on.
    func isolatesFailures(of node: Node) -> Bool { node.parent == nil && uplink == nil }

    func makeHost(_ definition: ChildDefinition, parent: Node, incarnation: Incarnation, events: HostEvents) -> any ChildHost {
        switch definition.kind {
        case .program(let program):
            return ProgramHost(program, path: parent.path.appending(definition.key), runtime: self, events: events)
        case .coordinator(let coordinator):
            switch coordinator.place {
            case .inProcess(let type):
                return LocalHost(
                    type,
                    coordinator.configuration,
                    path: parent.path.appending(definition.key),
                    incarnation: incarnation,
                    parent: parent,
                    runtime: self,
                    startTimeout: definition.startTimeout,
                    events: events
                )
            case .worker(let program):
                return WorkerHost(
                    coordinator,
                    program,
                    key: definition.key,
                    incarnation: incarnation,
                    parent: parent,
                    startTimeout: definition.startTimeout,
                    events: events
                )
            }
        }
    }

    func definition(
        _ key: String,
        _ kind: ChildDefinition.Kind,
        restart: RestartType,
        shutdown: Shutdown,
        startTimeout: Duration? = nil
    ) -> ChildDefinition {
        ChildDefinition(key: key, kind: kind, restart: restart, shutdown: shutdown, startTimeout: startTimeout ?? self.startTimeout)
    }

    /// Tells the log, and whoever runs the runtime.
    func childChanged(_ path: CoordinatorPath, _ change: Supervisor<String>.Change) {
        let level: Logger.Level
        let event: LifecycleChange?
        switch change {
        case .started: (level, event) = (.debug, .started)
        case .stopped(let reason): (level, event) = (.debug, .stopped(reason))
        case .restarted: (level, event) = (.info, .restarted)
        case .restarting: (level, event) = (.debug, nil)
        case .crashed(let reason): (level, event) = (.warning, .crashed(reason))
        case .startFailed(let reason): (level, event) = (.warning, .startFailed(reason))
        case .gaveUp(let reason): (level, event) = (.error, .gaveUp(reason))
        }
        logger.log(level: level, "a child has changed", metadata: ["coordinator.path": "\(path)", "change": "\(change)"])
        if let event { changes?(path, event) }
    }

    /// Closes what belongs to the process as a whole, after the last coordinator has ended.
    func close() {
        hub.close()
        tasks.cancelAll()
        directory.remove()
    }
}
