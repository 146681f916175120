import ConcurrencySupport
import Logging
import Processes
import Synchronization

/// The state and services that all coordinators of one process share.
final class RuntimeCore: Sendable {
    /// The logger, which never waits for its entries to be written.
    let logger: Logger
    private let logQueue = LogQueue()
    let registry = TypeRegistry()
    let tap: Tap
    let deadLetters: DeadLetters
    /// The reports of unhandled messages to the root's process; `nil` in that process itself.
    let unhandled: UpwardReports<UnhandledReport>?
    let counts: LiveCounts
    /// The asks that no coordinator of the tree has made.
    let openAsks = OpenAsks()
    /// The dependencies that the first coordinator of this process inherits, unless its parent sends others.
    let dependencies: Dependencies
    /// The dependencies that take precedence over all provided ones.
    let overrides: Dependencies
    /// Whether children that are placed in workers run in this process.
    let runsInOneProcess: Bool
    let restartTokens: RestartTokens
    /// The dependencies that can't cross to workers and for which this has been logged.
    let staying = Lock<Set<String>>([])
    /// Whether any coordinator of this process, or below, has ever shown a page.
    let hasNavigated = Atomic(false)
    let tasks = OwnedTasks()
    /// The tasks of spares: one for each process that was started as a spare, until nothing is left of it.
    let spares = OwnedTasks()
    let directory: RuntimeFiles
    /// The record of started processes, for the next runtime in a directory that stays.
    let journal: ProcessJournal?
    /// The mark that every process spawned here inherits.
    let mark: ProcessMark
    /// Whether this process has ever spawned another.
    let hasSpawned = Atomic(false)
    /// Whether orphans below this process become its children.
    let isSubreaper: Bool
    let hub: LinkHub
    let spawner: WorkerSpawner
    /// The link to the process above, in a worker.
    let uplink: Uplink?
    /// The time for which the workers of this process may outlive it; zero: they are killed with it.
    let orphanGrace: Duration
    /// The time after which a worker that doesn't respond is killed.
    let heartbeatTimeout: Duration
    private let startTimeout: Duration
    private let rootPolicy: SupervisionPolicy?
    private static let numbers = Atomic<Int>(0)

    init(_ options: CoordinatorRuntime.Options, counts: LiveCounts = LiveCounts(), uplink: Uplink? = nil) {
        self.counts = counts
        logger = options.logger.queued(by: logQueue)
        directory = RuntimeFiles(options.runtimeDirectory)
        // A worker uses the mark of its process; the root adds an entry of this runtime.
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
        unhandled = uplink.map { UpwardReports($0, isPrompt: true) }
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

    /// The build that all processes from here up have in common; empty if there are several, and then messages upwards are JSON.
    var upwardBuildID: String {
        guard let uplink else { return BuildID.current }
        return uplink.isCompact ? BuildID.current : ""
    }

    func policy(for node: Node) -> SupervisionPolicy {
        node.parent == nil && uplink == nil ? rootPolicy ?? node.type.policy : node.type.policy
    }

    /// Returns whether a child that exceeds its restart intensity fails alone, while its siblings go on: only at the root of the whole
    /// tree, which has no parent.
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

    /// Logs a change of a child and publishes it to the viewers of the tree's events.
    func childChanged(_ path: CoordinatorPath, _ change: Supervisor<String>.Change) {
        let level: Logger.Level
        let event: LifecycleChange?
        switch change {
        case .started: (level, event) = (.debug, .started)
        // The notice is for a process that has ended by itself without a failure, which no other entry reports.
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

    /// Logs and publishes a change that supervision has no part in.
    func announce(_ path: CoordinatorPath, _ change: LifecycleChange) {
        logger.debug("a child has changed", metadata: ["coordinator.path": "\(path)", "change": "\(change)"])
        tap.publish(.changed(path, change))
    }

    /// Waits at most a second until the log is written, so that a blocked log doesn't keep the process from ending.
    func flushLog() async { await logQueue.flush(within: .seconds(1)) }

    /// Closes the resources of the process as a whole, after the last coordinator has ended.
    ///
    /// The pools of spares have ended with their parents, and no incarnation is left that was a spare before.
    func close() async {
        await spares.waitForAll()
        await endStrays()
        journal?.close()
        hub.close()
        // Reading a dependency runs the user's code, which may not end.
        _ = await Deadline.within(.seconds(1)) { await self.tasks.end() }
        tap.close()
        directory.remove()
    }
}
