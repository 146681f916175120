import Processes
import Synchronization
import WireProtocol

/// A child in the process of its parent.
final class LocalHost: ChildHost {
    private enum Phase {
        /// Can transition to: starting.
        case idle
        /// The `start` hook runs. Can transition to: ready, ended.
        case starting(Task<Void, Never>)
        /// Can transition to: ended.
        case ready
        case ended
    }

    private struct State {
        var phase = Phase.idle
        /// Set when a stop was requested before the child was ready.
        var stopGrace: Duration??
        /// Set when the coordinator ended by itself before the host knew that it was ready.
        var earlyEnd: ExitReason?
        /// What was provided before there was anybody to give it to.
        var early: Dependencies?
        /// Why it's paused, since before there was anybody to pause.
        var earlyReasons: PauseReasons?
    }

    private let configuration: ConfigurationValue
    private let startTimeout: Duration
    private let events: HostEvents
    private let tasks = OwnedTasks()
    private let state = Mutex(State())
    private let startOutcome = Ending<Result<Void, any Error>>()
    private let node: Ending<Node> = Ending()
    private let makeNode: @Sendable (Node.Signals) -> Node

    init(
        _ type: CoordinatorType,
        _ configuration: ConfigurationValue,
        path: CoordinatorPath,
        incarnation: Incarnation,
        parent: Node?,
        runtime: RuntimeCore,
        startTimeout: Duration,
        inheritance: ChildInheritance = ChildInheritance(),
        events: HostEvents
    ) {
        self.configuration = configuration
        self.startTimeout = startTimeout
        self.events = events
        makeNode = { signals in
            Node(
                path: path,
                incarnation: incarnation,
                type: type,
                parent: parent,
                runtime: runtime,
                pauseReasons: inheritance.pauseReasons,
                inherited: inheritance.dependencies,
                signals: signals
            )
        }
    }

    var process: ProcessIdentity? { .current }

    /// The coordinator, once `start` has been called.
    var coordinator: Node? { node.outcome }

    func start() async throws {
        let node = makeNode(
            Node.Signals(
                ended: { [weak self] end in self?.ended(end) },
                emitted: events.emitted,
                dismissalRequested: events.dismissalRequested
            )
        )
        node.runtime.dependencyTurn.withLock { _ in
            state.withLock { _ in _ = self.node.settle(node) }
            if let early = state.withLock({ $0.early }) { node.inheritInTurn(early) }
        }
        if let reasons = state.withLock({ $0.earlyReasons }) { await node.pause(for: reasons) }
        let hook = Task {
            do {
                try await node.start(configuration)
                startOutcome.settle(.success(()))
            } catch {
                startOutcome.settle(.failure(Failures.crossable(error)))
            }
        }
        let timeout = CoordinatorError(.startTimedOut, "\(node.path) was not ready within \(startTimeout)")
        let timer = Timers.shared.schedule(at: .now + startTimeout) { [startOutcome] in
            // Settled first: what the hook throws for being cancelled is no reason.
            startOutcome.settle(.failure(timeout))
            hook.cancel()
        }
        let stopGrace = state.withLock { state in
            state.phase = .starting(hook)
            return state.stopGrace
        }
        if let stopGrace { cancel(hook, within: stopGrace, at: node.path) }
        let result = await startOutcome.value
        Timers.shared.cancel(timer)
        try await conclude(result, node)
    }

    private func conclude(_ result: Result<Void, any Error>, _ node: Node) async throws {
        let (stopGrace, earlyEnd) = state.withLock { state in
            if case .success = result, state.stopGrace == nil { state.phase = .ready } else { state.phase = .ended }
            return (state.stopGrace, state.earlyEnd)
        }
        if case .success = result, stopGrace == nil {
            if let earlyEnd { endByItself(earlyEnd) }
            return
        }
        _ = await node.stop(grace: stopGrace ?? .seconds(5))
        if case .failure(let error) = result, stopGrace == nil || !(error is CancellationError) { throw error }
        throw CoordinatorError.hasStopped(node.path)
    }

    /// A hook that ignores its cancellation is abandoned when the grace is over.
    private func cancel(_ hook: Task<Void, Never>, within grace: Duration?, at path: CoordinatorPath) {
        hook.cancel()
        guard let grace else { return }
        _ = Timers.shared.schedule(at: .now + grace) { [startOutcome] in
            startOutcome.settle(.failure(CoordinatorError.hasStopped(path)))
        }
    }

    func stop(_ shutdown: Shutdown) {
        let grace = shutdown.grace
        let (hook, isReady) = state.withLock { state -> (Task<Void, Never>?, Bool) in
            switch state.phase {
            case .idle:
                state.stopGrace = .some(grace)
                return (nil, false)
            case .starting(let hook):
                state.stopGrace = .some(grace)
                return (hook, false)
            case .ready:
                state.phase = .ended
                return (nil, true)
            case .ended:
                return (nil, false)
            }
        }
        if let hook, let node = node.outcome { cancel(hook, within: grace, at: node.path) }
        if isReady { conclude(grace: grace, reason: .shutdown) }
    }

    private func ended(_ end: Node.End) {
        switch end {
        case .finished(let output): events.finished(output)
        case .returned: endByItself(.normal)
        case .failed(let reason): endByItself(reason)
        }
    }

    private func endByItself(_ reason: ExitReason) {
        let isReady = state.withLock { state -> Bool in
            switch state.phase {
            case .idle, .starting:
                state.earlyEnd = reason
                return false
            case .ready:
                state.phase = .ended
                return true
            case .ended:
                return false
            }
        }
        guard isReady else { return }
        // What is sent from now on waits for the next life, if there is one.
        events.unreachable()
        conclude(grace: .seconds(5), reason: reason)
    }

    private func conclude(grace: Duration?, reason: ExitReason) {
        guard let node = node.outcome else { return }
        tasks.add { [events] in
            let isClean = await node.stop(grace: grace, isFailure: !reason.isNormal)
            events.exited(isClean ? reason : .stopTimedOut)
        }
    }

    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        node.outcome?.deliver(envelope, to: rest, isDirect: isDirect)
    }

    func operate(_ operation: Operation, on rest: ArraySlice<Substring>) async throws -> JSONValue {
        guard let node = node.outcome else { return [] }
        return try await node.operate(operation, on: rest)
    }

    func pause(for reasons: PauseReasons) async {
        let found = state.withLock { state -> Node? in
            if node.outcome == nil { state.earlyReasons = reasons }
            return node.outcome
        }
        await found?.pause(for: reasons)
    }

    func inherit(_ dependencies: Dependencies) {
        // In the turn of whoever provides.
        if let node = node.outcome { return node.inheritInTurn(dependencies) }
        state.withLock { $0.early = dependencies }
    }

    func observeEvents() {}

    func kill() throws {
        throw CoordinatorError(.notAWorker, "\(node.outcome?.path.description ?? "the coordinator") has no process of its own to kill")
    }
}

extension Shutdown {
    /// How long a child is given to end; `nil`: for ever.
    var grace: Duration? {
        switch self {
        case .brutalKill: .zero
        case .timeout(let duration): duration
        case .infinity: nil
        }
    }
}
