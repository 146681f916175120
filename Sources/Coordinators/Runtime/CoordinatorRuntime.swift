public import ServiceLifecycle
import Synchronization
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
        /// Can transition to: ended.
        case running(LocalHost)
        case ended
    }

    let core: RuntimeCore
    private let options: Options
    private let type: CoordinatorType
    private let configuration: ConfigurationValue
    private let state = Mutex(State.idle)
    private let exit = Ending<RootExit>()

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
    /// `run` does this; tests and tools may want it apart. Whoever starts it has to stop it: a tree that runs isn't dropped with its
    /// runtime.
    ///
    /// - Throws: what the root's start threw; `startTimedOut`; `stopped` the second time.
    public func start() async throws {
        let birth = Birth(
            type: type,
            configuration: configuration,
            path: .root,
            incarnation: 1,
            parent: nil,
            runtime: core,
            startTimeout: options.startTimeout,
            inheritance: ChildInheritance(dependencies: core.dependencies)
        )
        let host = LocalHost(birth, events: HostEvents(owner: self, life: Life(key: "", incarnation: 1)))
        let isFirst = state.withLock { state -> Bool in
            guard case .idle = state else { return false }
            state = .running(host)
            return true
        }
        guard isFirst else { throw CoordinatorError(.stopped, "a runtime can be started once") }
        do {
            try await core.takeOver()
            // It may have been stopped while what a former runtime has left was ended.
            if case .ended = state.withLock({ $0 }) { throw CoordinatorError.hasStopped(.root) }
            try await host.start()
        } catch {
            state.withLock { $0 = .ended }
            await core.close()
            throw error
        }
    }

    /// Ends the tree in reverse start order, and returns when nothing is left of it.
    public func stop() async {
        let host = state.withLock { state -> LocalHost? in
            defer { state = .ended }
            if case .running(let host) = state { return host }
            return nil
        }
        guard let host, let root = host.coordinator else { return }
        _ = await root.stop(grace: options.shutdown.grace)
        await core.close()
        exit.settle(.reason(.shutdown))
    }

    var root: Node {
        get throws {
            guard case .running(let host) = state.withLock({ $0 }), let node = host.coordinator else {
                throw CoordinatorError(.stopped, "the runtime isn't running")
            }
            return node
        }
    }
}

extension CoordinatorRuntime: HostOwner {
    func lifeExited(_ life: Life, _ reason: ExitReason) { exit.settle(.reason(reason)) }

    func lifeFinished(_ life: Life, _ output: Answer) { exit.settle(.finished(output)) }

    /// Nobody is above the root to hear it.
    func lifeEmitted(_ life: Life, _ event: Answer) {}

    func dismissalRequested(by life: Life, timeout: Duration) async -> Bool {
        exit.settle(.reason(.shutdown))
        return true
    }
}
