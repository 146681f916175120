import ConcurrencySupport
import Processes
import WireProtocol

/// A plain program as a child: ready once it runs, stopped by signals.
final class ProgramHost: ChildHost {
    private struct State {
        var child: ChildProcess?
        var stopGrace: Duration??
        var isPaused: Bool
    }

    private let specification: ProgramSpecification
    private let path: CoordinatorPath
    private let runtime: RuntimeCore
    private let events: HostEvents
    private let tasks = OwnedTasks()
    private let state: Lock<State>

    init(
        _ specification: ProgramSpecification,
        path: CoordinatorPath,
        runtime: RuntimeCore,
        inheritance: ChildInheritance,
        events: HostEvents
    ) {
        state = Lock(State(isPaused: !inheritance.pauseReasons.isEmpty))
        self.specification = specification
        self.path = path
        self.runtime = runtime
        self.events = events
    }

    var process: ProcessIdentity? { state.withLock { $0.child?.identity } }

    func start() async throws {
        if state.withLock({ $0.stopGrace != nil }) { throw CoordinatorError.hasStopped(path) }
        let spawned = try await runtime.spawner.spawn(specification, path: path)
        let child = spawned.process
        try? await runtime.processBegan(spawned.family)
        let stopGrace = state.withLock { state in
            state.child = child
            // Under the lock: a resume that comes now must come behind it.
            if state.isPaused, state.stopGrace == nil { try? child.sendToGroup(.stop) }
            return state.stopGrace
        }
        if let stopGrace {
            _ = await child.terminate(grace: stopGrace ?? .seconds(5))
            await ended(spawned.family)
            throw CoordinatorError.hasStopped(path)
        }
        child.onExit { [self] status in
            tasks.add {
                await self.ended(spawned.family)
                self.events.send(.exited(ExitReason(status)))
            }
        }
    }

    /// The program has ended: what descends from it does too, before its path lives again.
    private func ended(_ family: ProcessFamily) async {
        await runtime.end([family])
        await runtime.processEnded(family)
    }

    func stop(_ shutdown: Shutdown) {
        let grace = shutdown.grace
        let child = state.withLock { state -> ChildProcess? in
            // The second time it can only shorten what is left.
            if let former = state.stopGrace, former ?? .forEver <= grace ?? .forEver { return nil }
            state.stopGrace = .some(grace)
            return state.child
        }
        guard let child else { return }
        if grace == .zero {
            try? child.sendToGroup(.kill)
            return
        }
        tasks.add { _ = await child.terminate(grace: grace ?? .forEver) }
    }

    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        envelope.end(.failure(CoordinatorError(.unsupported, "\(path) is a plain program: it answers no messages")))
    }

    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue {
        throw CoordinatorError(rest.isEmpty ? .unsupported : .noSuchPath, "\(path) is a plain program: it has no coordinators below it")
    }

    /// A program that is paused gets no processor time: SIGSTOP, and SIGCONT to resume it.
    func pause(for reasons: PauseReasons) async {
        // Under the lock, so that the last signal is that of the last wish.
        state.withLock { state in
            state.isPaused = !reasons.isEmpty
            try? state.child?.sendToGroup(reasons.isEmpty ? .continue : .stop)
        }
    }

    func inherit(_ dependencies: Dependencies) {}

    func observeEvents() {}

    var isBusy: Bool { false }

    func waitUntilHandled() async {}

    func kill() throws {
        guard let child = state.withLock({ $0.child }) else {
            throw CoordinatorError(.stopped, "\(path) has no process yet")
        }
        try child.send(.kill)
    }
}

extension Duration {
    /// As good as for ever: a year.
    fileprivate static let forEver = Duration.seconds(365 * 86_400)
}
