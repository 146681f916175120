import ConcurrencySupport
import Glibc
import Logging
import Processes
public import ServiceLifecycle
import Supervision
import UnixSignals
import WireProtocol

/// A tree of coordinators, with its root in this process.
///
/// The whole `main` of a program of coordinators is one line:
///
///     @main struct Program {
///         static func main() async throws { try await CoordinatorRuntime.main(AppCoordinator.self, coordinators: [CartCoordinator.self]) }
///     }
///
/// A program that embeds the runtime adds it to its `ServiceGroup` instead, and calls `runWorkerIfRequested` first in its own `main`.
public final class CoordinatorRuntime: Service {
    private enum State {
        /// The tree has not been started. Can transition to: running, ended.
        case idle
        /// The tree is starting or running. Can transition to: stopping, ended.
        case running(CoordinatorCell)
        /// The tree is stopping; it can be described and its end hastened meanwhile. Can transition to: ended.
        case stopping(CoordinatorCell)
        case ended
    }

    let core: RuntimeCore
    private let type: CoordinatorType
    private let configuration: ConfigurationValue
    private let state = Lock(State.idle)
    /// The reason of the root's end, settled when the tree is to end.
    private let exit = OneShot<ExitReason>()
    /// The time at which the start has succeeded, or the error with which it has failed.
    let begin = OneShot<Result<MonotonicTime, any Error>>()
    /// Settled when the tree's owner has asked for its end, and the tree isn't ready any more, though it takes messages for a while.
    private let leaving = OneShot<Void>()
    /// The end of the tree, settled when nothing is left of it.
    private let end = OneShot<Void>()

    /// Creates a runtime, which does nothing before `run` or `start`.
    public init<Root: Coordinator>(_ root: Root.Type, configuration: Root.Configuration, options: Options = Options()) {
        core = RuntimeCore(options)
        type = .of(root, adding: options.forwards.map(\.row))
        self.configuration = .value(configuration)
        core.types.registry.register(root)
    }

    /// Creates a runtime whose root is configured by its defaults and a closure.
    public convenience init<Root: Coordinator>(
        _ root: Root.Type,
        options: Options = Options(),
        configure: (inout Root.Configuration) -> Void = { _ in }
    ) where Root.Configuration: CoordinatorConfiguration {
        var configuration = Root.Configuration()
        configure(&configuration)
        self.init(root, configuration: configuration, options: options)
    }

    /// Starts the tree, and returns after it has ended: by graceful shutdown or cancellation, or because the root ended by itself.
    ///
    /// A graceful shutdown makes the tree unready, waits for ``Options/unreadyDelay``, and then ends the tree. A start that is under way is
    /// ended by it, and by cancellation, at once.
    ///
    /// - Throws: The error that the root's start threw; `failed` when the root failed. The tree has then ended.
    public func run() async throws {
        let isAsked = OneShot<Void>()
        try await withGracefulShutdownHandler {
            try await withTaskCancellationHandler {
                guard try await startUnlessEnded() else { return }
                let reason = await exit.value
                if isAsked.isSettled { await becomeUnready() }
                await stop()
                if !reason.isNormal { throw CoordinatorError(.failed, "the root coordinator has ended: \(reason)") }
            } onCancel: {
                exit.settle(.shutdown)
            }
        } onGracefulShutdown: {
            isAsked.settle()
            self.exit.settle(.shutdown)
        }
    }

    /// Starts the tree; an end that is asked for meanwhile ends the start.
    ///
    /// - Returns: False when the tree has ended, as it was to.
    private func startUnlessEnded() async throws -> Bool {
        let isFirst = progress == .idle
        let ending = core.time.task { [self] in
            if await exit.valueUnlessCancelled() != nil, begin.outcome == nil { await stop() }
        }
        defer { ending.cancel() }
        do {
            try await start()
            return true
        } catch {
            guard isFirst, exit.outcome?.isNormal == true else { throw error }
            await stop()
            return false
        }
    }

    /// Makes the tree unready for good, and waits for the delay of the options the first time; a cancellation ends the wait.
    func becomeUnready() async {
        guard leaving.settle(), progress == .running else { return }
        try? await core.time.sleep(until: core.time.now + core.options.unreadyDelay)
    }

    /// Starts the root and returns when it's ready.
    ///
    /// `run` calls this; tests and tools may call it by itself. The caller must stop the runtime, and keep a reference to it until then:
    /// with the last reference the tree ends too, in the background.
    ///
    /// - Throws: The error that the root's start threw; `startTimedOut`; `stopped` the second time; `invalidName` when two coordinators
    ///   that the program hosts have one name.
    public func start() async throws {
        try core.types.registry.checkNames()
        let host = CoordinatorCell(
            type: type,
            configuration: configuration,
            path: .root,
            incarnation: 1,
            parent: nil,
            runtime: core,
            startContext: StartContext(dependencies: core.options.dependencies),
            events: HostEvents(owner: self, life: IncarnationID(key: "", incarnation: 1))
        )
        let isFirst = state.withLock { state -> Bool in
            guard case .idle = state else { return false }
            state = .running(host)
            return true
        }
        guard isFirst else { throw CoordinatorError(.stopped, "this runtime was started before: create another one") }
        core.execution.services.whenOneFails { [weak self] reason in (try? self?.root)?.end(.failed(reason)) }
        do {
            try await core.takeOver()
            host.noteBirth()
            // The runtime may have been stopped while the remains of a former one were ended: the host has that state.
            try await host.start()
            begin.settle(.success(core.time.now))
            core.observation.instruments.changed(.root, .started)
            if let exporter = core.options.exporter {
                core.execution.tasks.add { [weak self, core] in
                    await exporter.run(TelemetrySource(core) { [weak self] in try? await self?.snapshot() })
                }
            }
            if core.options.endsOrphansWhenReady { await core.endOrphans() }
        } catch {
            let isStopped = state.withLock { if case .running = $0 { false } else { true } }
            if !isStopped { core.observation.instruments.changed(.root, .startFailed(.startFailed("\(error)"))) }
            await core.close()
            await core.flush()
            state.withLock { if case .running = $0 { $0 = .ended } }
            begin.settle(.failure(error))
            throw error
        }
    }

    /// Ends the tree, and returns when nothing is left of it, even if another call has begun to end it.
    ///
    /// Until then the tree can be described, its coordinators killed one by one, and its end hastened.
    public func stop() async {
        let (host, isFirst) = state.withLock { state -> (CoordinatorCell?, Bool) in
            switch state {
            case .running(let host):
                state = .stopping(host)
                return (host, true)
            case .stopping(let host): return (host, false)
            case .idle, .ended:
                state = .ended
                return (nil, false)
            }
        }
        guard let host else {
            begin.settle(.failure(CoordinatorError(.stopped, "the runtime was stopped before it was started")))
            return
        }
        guard isFirst else { return await end.value }
        var isBegun = true
        if begin.outcome == nil {
            // The tree is about to start: it never does, or its start is ended.
            isBegun = host.ifBegun != nil
            host.stop(isBegun ? core.options.shutdown : .brutalKill)
            if case .success = await begin.value { isBegun = true }
        }
        if isBegun, let root = host.ifBegun { await Self.end(root, core, exit.outcome ?? .shutdown) }
        state.withLock { $0 = .ended }
        exit.settle(.shutdown)
        end.settle(())
    }

    /// Shortens the end of a tree that is stopping: from now on no process of it gets more time than this.
    ///
    /// Times that are shorter already stay. `brutalKill` kills at once every process that still runs.
    ///
    /// - Returns: Whether the tree is stopping; otherwise nothing happens.
    @discardableResult
    public func hasten(_ shutdown: Shutdown) -> Bool {
        guard case .stopping(let host) = state.withLock({ $0 }) else { return false }
        if begin.outcome == nil {
            host.stop(shutdown)
            return true
        }
        guard let root = host.ifBegun else { return false }
        guard root.isStopping || root.isDraining else { return false }
        root.hasten(shutdown)
        return true
    }

    deinit {
        guard case .running(let host) = state.withLock({ $0 }), let root = host.ifBegun else { return }
        // The runtime is being released, so nothing can own this task, which ends with the tree.
        core.time.task { [core] in await Self.end(root, core, .shutdown) }
    }

    private static func end(_ root: CoordinatorCell, _ core: RuntimeCore, _ reason: ExitReason) async {
        if core.options.shutdown.drains { root.awaitRun() }
        _ = await root.shutDown(within: CoordinatorCell.Stop(core.options.shutdown, core.time))
        // No supervisor is above the root that could restart it.
        core.observation.instruments.changed(.root, reason.isNormal ? .stopped(reason) : .gaveUp(reason))
        await core.close()
        await core.flush()
    }

    /// Ends the workers of a former runtime in the directory that no start has adopted, and returns when nothing is left of them.
    ///
    /// This is for a program that sets ``Options/endsOrphansWhenReady`` to false, and calls it once it has requested all starts that it
    /// makes by itself. A coordinator calls ``CoordinatorContext/endOrphans()``.
    public func endOrphans() async { await core.endOrphans() }

    var root: CoordinatorCell {
        get throws {
            let host: CoordinatorCell? =
                switch state.withLock({ $0 }) {
                case .running(let host), .stopping(let host): host
                case .idle, .ended: nil
                }
            guard let cell = host?.ifBegun else {
                throw CoordinatorError(.stopped, "the runtime isn't running: it was not started yet, or has ended")
            }
            return cell
        }
    }

    /// The part of its life that the tree is in.
    enum Progress { case idle, running, ended }

    var progress: Progress {
        switch state.withLock({ $0 }) {
        case .idle: .idle
        case .running, .stopping: .running
        case .ended: .ended
        }
    }

    /// Whether the tree is ending, or about to.
    var isStopping: Bool {
        if case .stopping = state.withLock({ $0 }) { true } else { leaving.isSettled }
    }
}

extension CoordinatorRuntime: HostOwner {
    func handle(_ event: HostEvent, of life: IncarnationID) {
        switch event {
        case .exited(let reason): exit.settle(reason)
        case .finished: exit.settle(.normal)
        case .dismissalRequested(_, let decision):
            exit.settle(.shutdown)
            decision.settle(true)
        // No coordinator is above the root to hear it.
        case .emitted: break
        // The root is in this process: it can always be reached.
        case .becameReachable, .becameUnreachable, .becameIdle, .recyclingDue, .messageReturned: break
        }
    }
}

// MARK: - The main function of a program

extension CoordinatorRuntime {
    /// Runs the whole `main` of a program of coordinators: as the root's process, or as a worker when a parent has spawned this process.
    ///
    /// Returns when the tree has ended; SIGTERM and SIGINT end it gracefully. In a worker it doesn't return. A child of the root that is given up
    /// ends the process; see ``Options/whenGivenUp``.
    ///
    /// - Parameters:
    ///   - root: The type of the root.
    ///   - coordinators: The other coordinators that a parent may start in a process of this executable.
    ///   - options: The settings of the runtime.
    ///   - configure: A function that sets the root's configuration.
    public static func main<Root: Coordinator>(
        _ root: Root.Type,
        coordinators: [any Coordinator.Type] = [],
        options: Options = Options(),
        configure: (inout Root.Configuration) throws -> Void = { _ in }
    ) async throws where Root.Configuration: CoordinatorConfiguration {
        FreeMemory.limitArenas()
        let options = await runWorkerIfRequested(with: options, adding: coordinators + [root])
        try await options.bootstrap?(.root)
        var configuration = Root.Configuration()
        try configure(&configuration)
        try await run(root, with: configuration, options)
    }

    /// Runs the whole `main` of a program of coordinators whose root's configuration has fields without defaults.
    ///
    /// - Parameters:
    ///   - root: The type of the root.
    ///   - coordinators: The other coordinators that a parent may start in a process of this executable.
    ///   - options: The settings of the runtime.
    ///   - configuration: The root's configuration, which is made in the root's process only.
    public static func main<Root: Coordinator>(
        _ root: Root.Type,
        coordinators: [any Coordinator.Type] = [],
        options: Options = Options(),
        with configuration: @autoclosure () throws -> Root.Configuration
    ) async throws {
        FreeMemory.limitArenas()
        let options = await runWorkerIfRequested(with: options, adding: coordinators + [root])
        try await options.bootstrap?(.root)
        try await run(root, with: configuration(), options)
    }

    /// Runs this process as a worker if a parent has spawned it as one, and ends it then; otherwise returns at once.
    ///
    /// Call this first in the `main` of a program that embeds the runtime, on the main thread: it arms the signal that ends a worker with
    /// its parent.
    ///
    /// - Parameters:
    ///   - coordinators: The coordinators that a parent may start in a process of this executable.
    ///   - options: The settings of the runtime.
    public static func runWorkerIfRequested(coordinators: [any Coordinator.Type], options: Options = Options()) async {
        _ = await runWorkerIfRequested(with: options, adding: coordinators)
    }

    /// Returns the options with the program's coordinators, in a process that isn't a worker.
    private static func runWorkerIfRequested(with options: Options, adding coordinators: [any Coordinator.Type]) async -> Options {
        var options = options
        options.coordinators += coordinators
        do throws(CoordinatorError) {
            guard let ticket = try WorkerEnvironment.takeTicket() else { return options }
            FreeMemory.limitArenas()
            try WorkerMain.arm(ticket)
            Glibc.exit(await WorkerMain.run(ticket, options))
        } catch {
            Diagnostics.print(error.message)
            Glibc.exit(78)
        }
    }

    // This runs off the main actor: calling actors in a loop from there is a hundred times slower.
    @concurrent
    private static func run<Root: Coordinator>(_ root: Root.Type, with configuration: Root.Configuration, _ options: Options) async throws {
        var options = options
        options.ownsProcess = true
        options.whenGivenUp = options.whenGivenUp ?? .endProcess
        let runtime = CoordinatorRuntime(root, configuration: configuration, options: options)
        let group = ServiceGroup(
            services: [runtime],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: runtime.core.observation.logger
        )
        do {
            try await group.run()
        } catch let error as ServiceGroupError where error.errorCode == .serviceFinishedUnexpectedly {
            // The root has finished, which ends a program of coordinators.
        } catch {
            guard let reason = runtime.core.execution.endReason.outcome else { throw error }
            Diagnostics.print("\(error)")
            if case .exited(let code) = reason, reason.isPermanentFailure { Glibc.exit(code) }
            Glibc.exit(75)
        }
    }
}

extension CoordinatorRuntime.Forward {
    var row: Row { .message(MessageRow(.prefix(prefix), forwardingTo: .key(child))) }
}
