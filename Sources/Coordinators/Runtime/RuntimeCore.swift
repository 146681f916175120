import ConcurrencySupport
import Logging
import Processes
import Synchronization

/// What all coordinators of one process share.
final class RuntimeCore: Sendable {
    /// Never waits for what it logs to be written.
    let logger: Logger
    private let logQueue = LogQueue()
    let registry = TypeRegistry()
    let tap: Tap
    let deadLetters: DeadLetters
    let counts: LiveCounts
    /// What the coordinator that this process begins with inherits, unless its parent says so.
    let dependencies: Dependencies
    /// What wins over everything that is provided.
    let overrides: Dependencies
    /// Whether what would live in workers lives in this process.
    let runsInOneProcess: Bool
    let restartTokens: RestartTokens
    /// Who provides something, provides alone.
    let dependencyTurn = Lock(())
    /// The dependencies that can't cross to workers, and of which that has been said.
    let staying = Lock<Set<String>>([])
    /// Whether any coordinator of this process, or below, has ever shown a page.
    let hasNavigated = Atomic(false)
    let tasks = OwnedTasks()
    /// One for each process that was started to be a spare, until nothing is left of it.
    let spares = OwnedTasks()
    let directory: RuntimeDirectory
    /// What was started, for the next runtime in a directory that stays.
    let journal: ProcessJournal?
    /// What everything that is spawned here carries on.
    let mark: ProcessMark
    /// Whether any process was ever spawned here.
    let hasSpawned = Atomic(false)
    /// Whether orphans come to this process.
    let isSubreaper: Bool
    let hub: LinkHub
    let spawner: WorkerSpawner
    /// The way up, in a worker.
    let uplink: Uplink?
    /// How long the workers of this process may outlive it; zero: not at all.
    let orphanGrace: Duration
    /// How long a worker may give no sign of life.
    let heartbeatTimeout: Duration
    private let startTimeout: Duration
    private let rootPolicy: SupervisionPolicy?
    private static let numbers = Atomic<Int>(0)

    init(_ options: CoordinatorRuntime.Options, counts: LiveCounts = LiveCounts(), uplink: Uplink? = nil) {
        self.counts = counts
        logger = options.logger.queued(by: logQueue)
        directory = RuntimeDirectory(options.runtimeDirectory)
        // In a worker its own process's mark is enough; the root adds which runtime it is.
        let number = Self.numbers.add(1, ordering: .relaxed).newValue
        mark = uplink == nil ? ProcessMark.current.appending(Self.markEntry(directory, number: number)) : .current
        journal = uplink == nil && directory.given != nil ? ProcessJournal(directory) : nil
        isSubreaper = uplink == nil && options.isSubreaper
        hub = LinkHub(directory: directory, tasks: tasks, logger: logger)
        spawner = WorkerSpawner(
            defaultExecutable: options.workerExecutable,
            output: options.workerOutput,
            spawner: .shared,
            mark: mark,
            environment: .inherited(),
            logLevel: logger.logLevel
        )
        orphanGrace = uplink == nil ? options.orphanGrace : .zero
        heartbeatTimeout = options.heartbeatTimeout
        dependencies = options.dependencies
        overrides = options.dependencyOverrides
        runsInOneProcess = options.runsInOneProcess
        tap = Tap(uplink: uplink)
        deadLetters = DeadLetters(tap: tap, uplink: uplink)
        startTimeout = options.startTimeout
        restartTokens = RestartTokens(options.workerRestarts)
        rootPolicy = options.supervision
        self.uplink = uplink
        for type in options.coordinators where !registry.register(type) {
            logger.error(
                "two coordinators have one name: only the last can be started by it",
                metadata: ["type": "\(TypeNames.name(of: type))"]
            )
        }
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

    func makeHost(
        _ definition: ChildDefinition,
        parent: Node,
        incarnation: Incarnation,
        inheritance: ChildInheritance,
        events: HostEvents
    ) -> any ChildHost {
        switch definition.kind {
        case .program(let program):
            return ProgramHost(
                program,
                path: parent.path.appending(definition.key),
                runtime: self,
                inheritance: inheritance,
                events: events
            )
        case .coordinator(let coordinator):
            switch coordinator.place {
            case .inProcess(let type):
                let parameters = NodeParameters(
                    type: type,
                    configuration: coordinator.configuration,
                    path: parent.path.appending(definition.key),
                    incarnation: incarnation,
                    parent: parent,
                    runtime: self,
                    startTimeout: definition.startTimeout,
                    inheritance: inheritance
                )
                return LocalHost(parameters, events: events)
            case .worker(let program, let plan):
                let path = parent.path.appending(definition.key)
                let host = inheritance.spares?.take() ?? WorkerHost(program, plan, path: path, parent: parent)
                let assignment = WorkerHost.Assignment(
                    definition: coordinator,
                    incarnation: incarnation,
                    startTimeout: definition.startTimeout,
                    events: events,
                    inheritance: inheritance
                )
                host.assign(assignment)
                return host
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
        ChildDefinition(
            specification: ChildSpecification(id: key, restart: restart, shutdown: shutdown),
            kind: kind,
            startTimeout: startTimeout ?? self.startTimeout
        )
    }

    /// Tells the log, and whoever runs the runtime.
    func childChanged(_ path: CoordinatorPath, _ change: Supervisor<String>.Change) {
        let level: Logger.Level
        let event: LifecycleChange?
        switch change {
        case .started: (level, event) = (.debug, .started)
        // A process that has ended by itself, although for no failure: nobody else says so.
        case .stopped(let reason):
            let hasExited = if case .exited = reason { true } else { false }
            (level, event) = (hasExited ? .notice : .debug, .stopped(reason))
        case .restarted: (level, event) = (.info, .restarted)
        case .restarting: (level, event) = (.debug, nil)
        case .crashed(let reason): (level, event) = (.warning, .crashed(reason))
        case .startFailed(let reason): (level, event) = (.warning, .startFailed(reason))
        case .gaveUp(let reason): (level, event) = (.error, .gaveUp(reason))
        }
        logger.log(level: level, "a child has changed", metadata: ["coordinator.path": "\(path)", "change": "\(change)"])
        guard let event else { return }
        tap.publish(.changed(path, event))
    }

    /// Tells of a change that hasn't to do with supervision.
    func announce(_ path: CoordinatorPath, _ change: LifecycleChange) {
        logger.debug("a child has changed", metadata: ["coordinator.path": "\(path)", "change": "\(change)"])
        tap.publish(.changed(path, change))
    }

    /// Waits until the log is written; a log that nobody reads doesn't keep the process from ending.
    func flushLog() async { await logQueue.flush(within: .seconds(1)) }

    /// Closes what belongs to the process as a whole, after the last coordinator has ended.
    ///
    /// The pools of spares have ended with their parents, and no life is left that was a spare before.
    func close() async {
        await spares.waitForAll()
        await endStrays()
        journal?.close()
        hub.close()
        // What reads a dependency runs code of the user's, which may not end.
        _ = await Deadline.within(.seconds(1)) { await self.tasks.end() }
        tap.close()
        directory.remove()
    }
}
