import ConcurrencySupport
import Control
import Coordinators
import CoordinatorsObservability
public import DaemonConfiguration
import Glibc
public import Logging
public import Processes
public import ServiceLifecycle
import Synchronization
import WireProtocol

/// The supervisor daemon: a runtime whose root has the children of a configuration file, and a control server.
public final class Daemon: Service {
    let runtime: CoordinatorRuntime
    private let children: ConfiguredChildren
    private let keeper: ConfigurationKeeper
    private let server: ControlServer
    private let directory: RuntimeDirectory
    private let shutdown: ShutdownSignal
    private let signals: SignalReceiver
    private let logs: ChildLogs
    private let events: EventLog
    /// The end of the upgrade by which this program has taken the daemon's place.
    private let upgradeCompletion: UpgradeCompletion?
    /// The daemon as a node of a cluster; nil: it isn't one.
    private let cluster: ClusterMembership?
    private let standing: StandingFile
    private let output: DaemonOutput
    private let notifier: ServiceNotifier
    private let hasStopped = OneShot<Void>()
    private let logger: Logger

    /// Creates a daemon, which touches no file and no process before `run`.
    ///
    /// - Parameters:
    ///   - configuration: the children and how they are supervised.
    ///   - file: the path of the configuration file, which is read again when an operator or a signal requests it.
    ///   - directory: the runtime directory.
    ///   - output: the writer of the children's lines; the logger should write there too.
    ///   - logger: the daemon's logger.
    /// - Throws: `ProcessError` when the system has no such group as that of the operators.
    public convenience init(
        _ configuration: DaemonConfiguration,
        file: String,
        directory: RuntimeDirectory,
        output: DaemonOutput,
        logger: Logger
    ) throws(ProcessError) {
        let text = (try? DaemonConfiguration.text(path: file, allowsPipes: true)) ?? ""
        try self.init(configuration, text: text, file: file, directory: directory, output: output, logger: logger)
    }

    /// Creates a daemon.
    ///
    /// - Parameters:
    ///   - text: the text that the configuration was read from.
    ///   - cluster: the daemon as a node of a cluster; nil: as the configuration says.
    ///   - handover: what the former program in this process has left.
    ///   - isUpgradeDryRun: whether the daemon is never run; see ``UpgradeDryRun``.
    package init(
        _ configuration: DaemonConfiguration,
        text: String,
        file: String,
        cluster: ClusterConfiguration? = nil,
        directory: RuntimeDirectory,
        output: DaemonOutput,
        logger: Logger,
        handover: DaemonHandover? = nil,
        isUpgradeDryRun: Bool = false
    ) throws(ProcessError) {
        let logs = ChildLogs(configuration, directory: LogDirectory(directory).path, daemon: output, logger: logger)
        let events = handover.map { EventLog(continuing: $0.events) } ?? EventLog()
        var options = CoordinatorRuntime.Options()
        options.runtimeDirectory = directory.path
        options.orphanGrace = configuration.orphanGrace
        options.workerOutput = .captured(by: logs)
        options.forwards = configuration.receives.map { CoordinatorRuntime.Forward(prefix: $0.prefix, to: $0.child) }
        options.lifeObserver = { events.recordLifecycle($0, missed: $1) }
        options.deadLetterObserver = { events.recordDeadLetters($0) }
        // Descendants that have left a child's process group become the daemon's children when the child has ended.
        options.isSubreaper = !isUpgradeDryRun
        // The children are started by the root's `run`, after the root is ready.
        options.endsOrphansWhenReady = false
        options.handover = handover?.runtime
        options.logger = logger
        options.export(TelemetryExport(configuration.observability))
        let notifier = ServiceNotifier()
        // Those that no child lists any more are closed.
        children = withExtendedLifetime(handover?.sockets?.compactMap(ListeningSocket.inherited)) {
            ConfiguredChildren(configuration.children, configuration.supervision)
        }
        if let handover { children.rest(handover.resting) }
        let scheduler = Scheduler(children, events, logger, file: ScheduleFile(directory))
        scheduler.goOn(after: Scheduler.Legacy(times: handover?.schedules ?? [:], queued: Set(handover?.queued ?? [])))
        children.scheduler.withLock { $0 = scheduler }
        runtime = CoordinatorRuntime(DaemonCoordinator.self, configuration: children, options: options)
        let placed = configuration.children.first { $0.placement != nil }
        self.cluster = try (cluster ?? configuration.cluster).map { [children, runtime] cluster throws(ProcessError) in
            try ClusterMembership(cluster, children, runtime, events: events, logger: logger)
        }
        if let placed, self.cluster == nil {
            throw ProcessError(
                code: .invalidSpecification,
                errno: 0,
                message: "/\(placed.key) has `placement`, and the daemon is no node of a cluster; add `cluster`, or give --cluster FILE"
            )
        }
        standing = StandingFile(directory, children, runtime, logger)
        let shutdown = ShutdownSignal(runtime)
        self.shutdown = shutdown
        children.endObserver.withLock {
            $0 = { path, reason in
                // A child that isn't restarted, and is given up for the same end, has one cause.
                if shutdown.cause == nil {
                    logger.notice("a child's end ends the daemon", metadata: ["coordinator.path": "\(path)", "reason": "\(reason)"])
                }
                shutdown.request(because: ShutdownSignal.Cause(path: path, reason: reason))
            }
        }
        keeper = ConfigurationKeeper(
            configuration,
            text: text,
            file: file,
            children: children,
            cluster: self.cluster,
            logs: logs,
            events: events,
            notifier: notifier,
            logger: logger
        )
        signals = SignalReceiver(runtime: runtime, shutdown: shutdown, keeper: keeper, output: output, logger: logger)
        let upgrade = Upgrade(
            runtime: runtime,
            children: children,
            keeper: keeper,
            shutdown: shutdown,
            logs: logs,
            events: events,
            output: output,
            notifier: notifier,
            directory: directory,
            logger: logger
        )
        let handler = ControlRequestHandler(
            runtime: runtime,
            children: children,
            cluster: self.cluster,
            keeper: keeper,
            shutdown: shutdown,
            upgrade: upgrade,
            logs: logs,
            events: events,
            standing: standing,
            logger: logger
        )
        // Another daemon is refused as long as this one has processes, and takes its place otherwise.
        server = ControlServer(
            path: directory.controlSocket,
            handler: handler,
            groups: try configuration.operators.roles(),
            yields: { [runtime] in !runtime.hasProcesses },
            restored: { [standing] made in
                let reason = "removed, and made again: \(made.joined(separator: ", "))"
                logger.warning(
                    "the runtime directory was damaged",
                    metadata: ["runtime.directory": "\(directory.path)", "reason": "\(reason)"]
                )
                standing.save()
                events.append(ControlEvent(kind: .restored, reason: reason))
            }
        )
        upgrade.use(server)
        self.cluster?.use(server)
        upgradeCompletion = handover.map { [server, runtime] in UpgradeCompletion($0, server, runtime, UpgradeMarker(directory)) }
        // Operators wait until the children are back.
        if upgradeCompletion != nil { server.suspend() }
        self.logs = logs
        self.events = events
        self.output = output
        self.directory = directory
        self.notifier = notifier
        self.logger = logger
    }

    /// Runs until an operator or a signal requests the shutdown, then stops the tree in reverse order; leaves no process and no socket.
    ///
    /// From its beginning the daemon receives every signal that could end it, and ends its children first.
    ///
    /// - Throws: `ControlError` when another daemon runs in the directory or the directory can't be used, and the root's error.
    public func run() async throws {
        do {
            try await serve()
            logger.notice("stopped")
        } catch {
            await flush()
            throw error
        }
        await flush()
    }

    /// The exit code of the daemon that has run: that of the child whose end has ended it, or 128 and the number of its signal; otherwise 0.
    public var exitCode: Int32 { shutdown.cause?.reason.shellExitCode ?? 0 }

    /// Writes what the children and the daemon have written at last.
    private func flush() async {
        await logs.flush(within: .seconds(1))
        await output.flush(within: .seconds(1))
    }

    private func serve() async throws {
        // Before operators can connect and use descriptors up.
        try await runtime.prepare()
        try signals.begin()
        // Before the tree starts: the holder of the socket is the only daemon in the directory.
        try await listen()
        do throws(ControlError) {
            try cluster?.listen()
        } catch {
            server.close()
            throw error
        }
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await self.signals.run() }
            do {
                await standing.load(isReplacement: upgradeCompletion != nil)
                try await runtime.start()
                // Whoever has connected before has waited for the tree.
                group.addTask { try await self.serveOperators() }
                events.append(ControlEvent(kind: .daemonStarted, pid: getpid(), reason: upgradeCompletion?.reason ?? Release.version))
                // `ready` is said when the children are, or have failed.
                logger.notice("operators are served, and the children are started", metadata: ["runtime.directory": "\(directory.path)"])
                if let memory = logs.directoryInMemory {
                    let advice: Logger.Metadata = ["logs.directory": "\(memory)"]
                    logger.notice(
                        "the children's logs are in memory, and gone with the next boot; `logging: { directory: … }` keeps them",
                        metadata: advice
                    )
                }
                if let cluster { group.addTask { await cluster.run() } }
                group.addTask { await self.runSchedules() }
                group.addTask { await self.settleOrphans() }
                if let upgradeCompletion {
                    group.addTask {
                        await upgradeCompletion.conclude()
                        if upgradeCompletion.isReloadWaiting { self.signals.requestReload() }
                    }
                }
                group.addTask { await self.report() }
                await withGracefulShutdownHandler {
                    await shutdown.requested()
                } onGracefulShutdown: {
                    self.shutdown.request()
                }
                events.append(ControlEvent(kind: .daemonStopping, reason: shutdown.cause.map { "\($0.path): \($0.reason)" }))
                logger.notice("stopping", metadata: ["runtime.directory": "\(directory.path)"])
                ListeningSocket.endsWithProcess.store(true, ordering: .relaxed)
            } catch {
                signals.end()
                server.close()
                throw error
            }
            notifier.stopping(children.longestStop + Self.stopMargin)
            await standing.close()
            await cluster?.leave(hastenedBy: shutdown)
            await shutdown.carryOut()
            children.releaseSockets()
            hasStopped.settle()
            children.areRequested.settle(())
            signals.end()
            // The server still answers the open requests.
            server.close()
        }
    }

    /// The time that the daemon needs for its own end, beside that of its children.
    private static let stopMargin = Duration.seconds(5)

    /// Starts children at their times until the tree stops.
    private func runSchedules() async {
        guard let scheduler = children.scheduler.withLock({ $0 }) else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await scheduler.run() }
            await shutdown.requested()
            group.cancelAll()
        }
        children.scheduler.withLock { $0 = nil }
    }

    /// Reports to the program that has started the daemon, until the tree has stopped.
    private func report() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await ServiceReports(self.notifier, self.children, self.directory, self.logger).run() }
            _ = await self.hasStopped.valueUnlessCancelled()
            group.cancelAll()
        }
    }

    /// The time that children which are started after others are given to be started, and so to adopt the workers of a killed daemon.
    private static let adoptionLimit = Duration.seconds(20)

    /// Ends the workers of a killed daemon that the file doesn't list any more.
    private func settleOrphans() async {
        _ = await children.areRequested.value(before: .now + Self.adoptionLimit)
        standing.save()
        await runtime.endOrphans()
    }

    /// Takes the directory and its control socket; a daemon that has just been killed may have the directory's lock for a moment.
    private func listen() async throws {
        let deadline = ContinuousClock.now + .seconds(1)
        while true {
            do throws(ControlError) {
                return try server.listen()
            } catch {
                guard error.code == .alreadyRunning, ContinuousClock.now < deadline else { throw error }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Serves operators until the server is closed.
    ///
    /// A tree that no operator reaches lives on, unless another daemon has taken its place: a path must not live twice.
    private func serveOperators() async throws {
        do throws(ControlError) {
            try await server.run()
        } catch {
            logger.error("operators can't be served any more", metadata: ["error": "\(error)"])
            if error.code == .alreadyRunning { shutdown.request() }
            throw error
        }
    }
}

extension OperatorConfiguration {
    /// Returns the roles of the groups by their numbers; a group that is named twice has the higher one.
    ///
    /// Blocks while the groups are looked up.
    fileprivate func roles() throws(ProcessError) -> [UInt32: OperatorRole] {
        var roles: [UInt32: OperatorRole] = [:]
        for group in groups {
            let number = try Account.groupID(group.name)
            roles[number] = max(group.role, roles[number] ?? group.role)
        }
        return roles
    }
}
