import ConcurrencySupport
public import ServiceLifecycle
import WireProtocol

/// A tree of coordinators, with its root in this process.
///
/// One line of a program of coordinators is its whole `main`:
///
///     @main struct Program {
///         static func main() async throws { try await CoordinatorRuntime.main(AppCoordinator.self, workers: [CartCoordinator.self]) }
///     }
///
/// An embedder adds the runtime to its `ServiceGroup` instead, and calls `runWorkerIfRequested` first thing in its own `main`.
public final class CoordinatorRuntime: Service {
    private enum State {
        /// Can transition to: running, ended.
        case idle
        /// Can transition to: stopping, ended.
        case running(LocalHost)
        /// The tree ends, and can be looked at and hastened meanwhile. Can transition to: ended.
        case stopping(LocalHost)
        case ended
    }

    let core: RuntimeCore
    private let options: Options
    private let type: CoordinatorType
    private let configuration: ConfigurationValue
    private let state = Lock(State.idle)
    private let exit = OneShot<RootExit>()
    /// Settled when the start has succeeded or failed.
    private let begin = OneShot<Void>()
    /// Settled when nothing is left of the tree.
    private let end = OneShot<Void>()

    /// How the root has ended.
    private enum RootExit: Sendable {
        case reason(ExitReason)
        case finished(Answer)
    }

    /// Creates a runtime; nothing happens before `run` or `start`.
    public init<Root: Coordinator>(_ root: Root.Type, configuration: Root.Configuration, options: Options = Options()) {
        core = RuntimeCore(options)
        self.options = options
        type = .of(root)
        self.configuration = .value(configuration)
        core.registry.register(root)
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
    /// - Throws: what the root's start threw; `failed` when the root failed. Nothing is left of the tree then.
    public func run() async throws {
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await start()
            let end = await exit.value
            await stop()
            if case .reason(let reason) = end, !reason.isNormal {
                throw CoordinatorError(.failed, "the root coordinator has ended: \(reason)")
            }
        } onCancelOrGracefulShutdown: {
            self.exit.settle(.reason(.shutdown))
        }
    }

    /// Starts the root and returns when it's ready.
    ///
    /// `run` does this; tests and tools may want it apart. Whoever starts it has to stop it, and to keep the runtime until then: with the
    /// last reference to the runtime its tree ends too, in the background.
    ///
    /// - Throws: what the root's start threw; `startTimedOut`; `stopped` the second time.
    public func start() async throws {
        let parameters = NodeParameters(
            type: type,
            configuration: configuration,
            path: .root,
            incarnation: 1,
            parent: nil,
            runtime: core,
            startTimeout: options.startTimeout,
            inheritance: ChildInheritance(dependencies: core.dependencies)
        )
        let host = LocalHost(parameters, events: HostEvents(owner: self, life: ChildInstance(key: "", incarnation: 1)))
        let isFirst = state.withLock { state -> Bool in
            guard case .idle = state else { return false }
            state = .running(host)
            return true
        }
        guard isFirst else { throw CoordinatorError(.stopped, "a runtime can be started once") }
        do {
            try await core.takeOver()
            // It may have been stopped while what a former runtime has left was ended: the host knows.
            try await host.start()
            begin.settle(())
        } catch {
            await core.close()
            await core.flushLog()
            state.withLock { if case .running = $0 { $0 = .ended } }
            begin.settle(())
            throw error
        }
    }

    /// Ends the tree in reverse start order, and returns when nothing is left of it, whoever has begun to end it.
    ///
    /// Until then the tree can be described, its coordinators killed one by one, and its end hastened.
    public func stop() async {
        let (host, isFirst) = state.withLock { state -> (LocalHost?, Bool) in
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
        guard let host else { return }
        guard isFirst else { return await end.value }
        if host.coordinator == nil {
            // It's about to begin: it never does, or is ended below.
            host.stop(.brutalKill)
            await begin.value
        }
        if let root = host.coordinator { await Self.end(root, core, within: options.shutdown) }
        state.withLock { $0 = .ended }
        exit.settle(.reason(.shutdown))
        end.settle(())
    }

    /// Shortens the end of a tree that is stopping: from now on no process of it is given longer than this.
    ///
    /// It never lengthens what was granted before. `brutalKill` kills at once whatever still runs.
    ///
    /// - Returns: whether the tree is stopping; otherwise nothing happens.
    @discardableResult
    public func hasten(_ shutdown: Shutdown) -> Bool {
        guard case .stopping(let host) = state.withLock({ $0 }), let root = host.coordinator else { return false }
        guard root.state.withLock({ $0.phase == .stopping }) else { return false }
        root.hasten(shutdown)
        return true
    }

    deinit {
        guard case .running(let host) = state.withLock({ $0 }), let root = host.coordinator else { return }
        // Nobody is left to own this task: it ends with the tree.
        Task { [core, options] in await Self.end(root, core, within: options.shutdown) }
    }

    private static func end(_ root: Node, _ core: RuntimeCore, within shutdown: Shutdown) async {
        _ = await root.stop(grace: shutdown.grace)
        await core.close()
        await core.flushLog()
    }

    var root: Node {
        get throws {
            let host: LocalHost? =
                switch state.withLock({ $0 }) {
                case .running(let host), .stopping(let host): host
                case .idle, .ended: nil
                }
            guard let node = host?.coordinator else { throw CoordinatorError(.stopped, "the runtime isn't running") }
            return node
        }
    }

    /// Whether the tree is ending.
    var isStopping: Bool {
        if case .stopping = state.withLock({ $0 }) { true } else { false }
    }
}

extension CoordinatorRuntime: HostOwner {
    func lifeExited(_ life: ChildInstance, _ reason: ExitReason) { exit.settle(.reason(reason)) }

    func lifeFinished(_ life: ChildInstance, _ output: Answer) { exit.settle(.finished(output)) }

    /// Nobody is above the root to hear it.
    func lifeEmitted(_ life: ChildInstance, _ event: Answer) {}

    func dismissalRequested(by life: ChildInstance, timeout: Duration) async -> Bool {
        exit.settle(.reason(.shutdown))
        return true
    }
}
