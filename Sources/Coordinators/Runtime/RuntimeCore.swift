import ConcurrencySupport
import Glibc
import Logging
import Processes
import Supervision
import Synchronization

/// The state and services that all coordinators of one process share.
final class RuntimeCore: ServiceOwner {
    let options: CoordinatorRuntime.Options
    let features: any TreeFeatures
    let supervise: @Sendable (any MessageReceiver) -> any ChildOwner
    /// The time that the coordinators of this process live by.
    let time: TimeSource
    let types = Types()
    let processes: ProcessResources
    let links: ProcessLinks
    let execution: Execution
    let observation: Observation
    let handover = Handover()
    /// The executor that the tasks of handlers prefer; `nil`: none.
    ///
    /// Where asks don't wait busily, a handler whose lone ask has been answered goes on in the thread that has read the answer.
    let handlerExecutor: (any TaskExecutor)?
    private static let numbers = Atomic<Int>(0)

    /// The types of coordinators and messages that are known by name.
    struct Types: Sendable {
        let registry = TypeRegistry()
        let names = NameRegistry()
    }

    /// What processes are started with, and what is kept of those that were.
    struct ProcessResources: ~Copyable, Sendable {
        let directory: RuntimeFiles
        let spawner: WorkerSpawner
        /// The record of started processes, for the next runtime in a directory that stays.
        let journal: ProcessJournal?
        /// The mark that every process spawned here inherits.
        let mark: ProcessMark
        let restartTokens: RestartTokens
        /// The tasks of spares: one for each process that was started as a spare, until nothing is left of it.
        let spares: OwnedTasks
        /// The commands that run because a program was given up.
        let hooksOnGivingUp = HookRuns()
        /// Whether this process has ever spawned another.
        let hasSpawned = Atomic(false)
        #if !SLOW_PATH_ONLY
        let memoryReturn = Lock(MemoryReturn())
        #endif
    }

    /// The ways to other processes.
    struct ProcessLinks: ~Copyable, Sendable {
        let hub: LinkHub
        /// The link to the process above, in a worker.
        let uplink: Uplink?
        /// The way to children of the root that other nodes have; `nil` unless a cluster places some.
        let nodes = LazyReference<Box<any PlacedDelivery>>()
        /// The dependencies that can't cross to workers and for which this has been logged.
        let staying = Lock<Set<String>>([])
    }

    /// What runs in this process beside the coordinators.
    struct Execution: ~Copyable, Sendable {
        let tasks: OwnedTasks
        /// The asks that no coordinator of the tree has made.
        let openAsks: OpenAsks
        /// The asks of coordinators that have stopped, and never asked before.
        let noAsks: OpenAsks
        /// The services that this process has made.
        let services: ProcessServices
        /// The numbers of the acknowledged messages that coordinators of this process send.
        let sequences = OpenSequences()
        /// Whether any coordinator of this process, or below, has ever shown a page.
        let hasNavigated = Atomic(false)
        /// The reason for which a child of the root was given up, if that ends the tree.
        let endReason = OneShot<ExitReason>()
    }

    /// What is told of this process's coordinators.
    struct Observation: ~Copyable, Sendable {
        /// The logger, which never waits for its entries to be written.
        let logger: Logger
        let logQueue: LogQueue
        let tap: Tap
        let traces: MessageTraces
        let telemetry: Telemetry
        let instruments: Instruments
        /// The handlers that run though their messages were cancelled.
        let handlerWatch: HandlerWatch
        let deadLetters: DeadLetters
        /// The reports of unhandled messages to the root's process; `nil` in that process itself.
        let unhandled: UpwardReports<UnhandledReport>?
        /// The changes of children here and below, for the root's process.
        let lives: LifecycleReporter
        /// The reports of processes that break the rules of their links.
        let violations: Violations
        let counts: LiveCounts

        fileprivate init(
            _ options: CoordinatorRuntime.Options,
            _ logger: Logger,
            _ logQueue: LogQueue,
            _ uplink: Uplink?,
            _ counts: LiveCounts
        ) {
            (self.logger, self.logQueue, self.counts) = (logger, logQueue, counts)
            tap = Tap(uplink: uplink)
            traces = MessageTraces(uplink: uplink, activity: tap.activity)
            // The root's process decides for the whole tree.
            let exporter = uplink == nil ? options.exporter : nil
            let configuration = exporter?.configuration ?? TelemetryConfiguration()
            telemetry = Telemetry(configuration, exporter: exporter, uplink: uplink, activity: tap.activity)
            instruments = Instruments(options.instruments, tap: tap, traces: traces, telemetry: telemetry)
            handlerWatch = HandlerWatch(options.time)
            deadLetters = DeadLetters(instruments: instruments, uplink: uplink, observer: options.deadLetterObserver)
            unhandled = uplink.map { UpwardReports($0, isPrompt: true) }
            lives = LifecycleReporter(options.lifeObserver, uplink: uplink)
            violations = Violations(options.violations, options.time)
        }
    }

    /// What a former runtime has left for this one: the former program in this process, or a killed one.
    struct Handover: ~Copyable, Sendable {
        /// The lock that the root holds on a directory that stays.
        let rootLock = Lock<IncarnationLock?>(nil)
        let epochNumber = Atomic<UInt32>(0)
        /// The workers that a killed root has left in the directory.
        let orphans = Lock<OrphanedWorkers?>(nil)
        let orphansAreLeft = Atomic(false)
        fileprivate let remains = LazyReference<PendingHandover>()
    }

    /// - Parameters:
    ///   - features: What a tree can do without.
    ///   - supervise: Makes the supervisor of a coordinator's children.
    init(
        _ options: CoordinatorRuntime.Options,
        counts: LiveCounts,
        uplink: Uplink?,
        features: any TreeFeatures,
        supervise: @escaping @Sendable (any MessageReceiver) -> any ChildOwner
    ) {
        (self.options, self.features, self.supervise, time) = (options, features, supervise, options.time)
        #if !SLOW_PATH_ONLY
        handlerExecutor = time.executor ?? (options.busyWait == .zero ? ReadingThread.executor : nil)
        #else
        handlerExecutor = time.executor
        #endif
        let isRoot = uplink == nil
        if isRoot, let former = options.handover { _ = handover.remains.storeIfNil(PendingHandover(former)) }
        let logQueue = LogQueue()
        let logger = options.logger.queued(by: logQueue)
        let directory = RuntimeFiles(options.runtimeDirectory)
        // A worker uses the mark of its process; the root adds an entry of this runtime.
        let number = Self.numbers.add(1, ordering: .relaxed).newValue
        let mark = isRoot ? ProcessMark.current.appending(Self.markEntry(directory, number: number)) : .current
        processes = ProcessResources(
            directory: directory,
            spawner: WorkerSpawner(
                defaultExecutable: options.workerExecutable,
                output: options.workerOutput,
                spawner: .shared,
                mark: mark,
                environment: .inherited(),
                logLevel: logger.logLevel,
                usesControlGroups: isRoot && options.isSubreaper
            ),
            journal: isRoot && directory.given != nil ? ProcessJournal(directory, logger: logger) : nil,
            mark: mark,
            restartTokens: RestartTokens(options.workerRestarts),
            spares: OwnedTasks(time)
        )
        let tasks = OwnedTasks(time)
        execution = Execution(
            tasks: tasks,
            openAsks: OpenAsks(time),
            noAsks: OpenAsks(time, isClosed: true),
            services: ProcessServices(logger: logger, time)
        )
        let hub = LinkHub(directory: directory, socket: directory.socketName(isRoot: isRoot), tasks: tasks, logger: logger)
        links = ProcessLinks(hub: hub, uplink: uplink)
        if isRoot, options.isSubreaper { ControlGroup.enterLeaf() }
        observation = Observation(options, logger, logQueue, uplink, counts)
        for type in options.coordinators { types.registry.register(type) }
        ResourceLimits.raiseOpenFiles()
        WorkerProcess.ignoreBrokenPipes()
    }

    var tasks: OwnedTasks { execution.tasks }
    var services: ProcessServices { execution.services }
    var placed: (any PlacedDelivery)? { links.nodes.load()?.value }

    /// Does what is to be done about a handler that runs on past its cancellation; on the timers' thread.
    func handlerIsStuck(_ verdict: HandlerWatch.Verdict) {
        observation.instruments.stuck(verdict.message)
        // The parent logs it, and kills this process.
        if let uplink = links.uplink { return uplink.tellHung(verdict.description) }
        verdict.receiver.logger.error(
            "a handler runs on past its cancellation, and can't be ended",
            metadata: [
                "message.name": "\(verdict.message.name)", "message.sender": "\(verdict.message.sender)",
                "handler.path": "\(verdict.message.path)", "grace": "\(verdict.grace)",
            ]
        )
        if observation.lives.areWanted {
            observation.lives.add(
                LifecycleRecord(.stuck(verdict.description), of: verdict.receiver.path, verdict.receiver.incarnation, nil)
            )
        }
        guard options.whenStuck == .endProcess else { return }
        Diagnostics.print("\(verdict.description): the process ends")
        let hasThread = DetachedThread.run { [logQueue = observation.logQueue] in
            logQueue.waitUntilWritten(for: .seconds(1))
            _exit(ExitReason.hung.processExitCode)
        }
        if !hasThread { _exit(ExitReason.hung.processExitCode) }
    }

    /// The build that all processes from here up have in common; empty if there are several, and then messages upwards are JSON.
    var upwardBuildID: String {
        guard let uplink = links.uplink else { return BuildID.current }
        return uplink.isCompact ? BuildID.current : ""
    }

    /// The remains of the former program in this process, or of a killed one; `nil` without any.
    var pendingHandover: PendingHandover? { handover.remains.load() }

    /// Takes note of plain programs that a killed process has left.
    func inherit(_ programs: [RuntimeHandover.Program]) {
        if programs.isEmpty { return }
        (pendingHandover ?? handover.remains.storeIfNil(PendingHandover(RuntimeHandover()))).add(programs)
    }

    /// Has children begin paused.
    func pauseAtStart(_ paths: [String]) {
        if paths.isEmpty { return }
        (pendingHandover ?? handover.remains.storeIfNil(PendingHandover(RuntimeHandover()))).pause(paths)
    }

    /// Whether plain programs may outlive this process, to be adopted by the next root in the directory.
    var keepsPrograms: Bool { processes.journal != nil }

    /// Whether orphans below this process become its children.
    var isSubreaper: Bool { links.uplink == nil && options.isSubreaper }

    /// The time for which the workers of this process may outlive it; zero: they are killed with it.
    var orphanGrace: Duration { links.uplink == nil ? options.orphanGrace : .zero }

    /// Whether anything but its outcome is told about a start that a coordinator has requested itself.
    var announcesStarts: Bool { observation.instruments.areActive || observation.logger.logLevel <= .debug }

    /// Waits, at most a second for each, until the instruments have sent what they have collected, and the log is written: what is blocked
    /// doesn't keep the process from ending.
    func flush() async {
        var exporting: (@Sendable () async -> Void)?
        if links.uplink == nil, let exporter = options.exporter {
            let source = TelemetrySource(self)
            exporting = { await exporter.flush(source) }
        }
        await observation.instruments.flush(with: exporting)
        await observation.logQueue.flush(within: .seconds(1))
    }

    /// Closes the resources of the process as a whole, after the last coordinator has ended.
    ///
    /// The pools of spares have ended with their parents, and no incarnation is left that was a spare before.
    func close() async {
        await placed?.end()
        await processes.hooksOnGivingUp.end()
        await execution.services.end()
        await processes.spares.waitForAll()
        await closeOrphans()
        await end(pendingHandover?.takeAll() ?? [], because: "the runtime ends")
        await endLeftoverProcesses()
        processes.journal?.close()
        links.hub.close()
        // Reading a dependency runs the user's code, which may not end.
        _ = await Grace(.seconds(1), time).within { await self.execution.tasks.end() }
        observation.tap.close()
        observation.violations.tellRest()
        // After the socket was removed: the next root's must not be.
        unlockDirectory()
        processes.directory.remove()
    }
}

extension TelemetrySource {
    /// - Parameter snapshot: Describes the tree, as long as it lives.
    init(_ core: RuntimeCore, snapshot: @escaping @Sendable () async -> CoordinatorSnapshot? = { nil }) {
        asks = { core.observation.telemetry.asks }
        deadLetters = { core.observation.deadLetters.report.count }
        self.snapshot = snapshot
    }
}

extension RuntimeCore {
    /// Sends a message, and waits until it's handled.
    ///
    /// - Returns: Whether a coordinator responds.
    func sendAcknowledged(
        _ body: Envelope.Body,
        from sender: CoordinatorPath,
        by deadline: MonotonicTime?,
        in asks: OpenAsks,
        dispatch: (Envelope) -> Void
    ) async throws -> Bool {
        let delivery = AcknowledgedDelivery(numberedBy: execution.sequences)
        defer { delivery.settle() }
        do {
            _ = try await Envelope(body, sender: sender, deadline: deadline, delivery: delivery).delivered(in: asks, by: dispatch)
            return true
        } catch let error as CoordinatorError where error.code == .unhandled && !error.maybeExecuted {
            // An error that says that it may have been executed is one that a handler has thrown.
            return false
        }
    }
}
