import Processes
import Synchronization
import WireProtocol

/// A plain program as a child: ready once it runs, stopped by signals.
final class ProgramHost: ChildHost {
    private struct State {
        var child: ChildProcess?
        var isReady = false
        var stopGrace: Duration??
        var isPaused: Bool
    }

    private let specification: ProgramSpecification
    private let path: CoordinatorPath
    private let runtime: RuntimeCore
    private let events: HostEvents
    private let tasks = OwnedTasks()
    private let state: Mutex<State>

    init(
        _ specification: ProgramSpecification,
        path: CoordinatorPath,
        runtime: RuntimeCore,
        inheritance: ChildInheritance,
        events: HostEvents
    ) {
        state = Mutex(State(isPaused: !inheritance.pauseReasons.isEmpty))
        self.specification = specification
        self.path = path
        self.runtime = runtime
        self.events = events
    }

    var process: ProcessIdentity? { state.withLock { $0.child?.identity } }

    func start() async throws {
        let child = try await runtime.spawner.spawn(specification, path: path)
        try? await runtime.uplink?.report(child.identity, lives: true)
        let stopGrace = state.withLock { state in
            state.child = child
            state.isReady = state.stopGrace == nil
            return state.stopGrace
        }
        if let stopGrace {
            _ = await child.terminate(grace: stopGrace ?? .seconds(5))
            try? await runtime.uplink?.report(child.identity, lives: false)
            throw CoordinatorError.hasStopped(path)
        }
        if state.withLock({ $0.isPaused }) { try? child.sendToGroup(.stop) }
        child.onExit { [self] status in
            tasks.add {
                try? await self.runtime.uplink?.report(child.identity, lives: false)
                self.events.exited(ExitReason(status))
            }
        }
    }

    func stop(_ shutdown: Shutdown) {
        let child = state.withLock { state -> ChildProcess? in
            state.stopGrace = .some(shutdown.grace)
            return state.isReady ? state.child : nil
        }
        guard let child else { return }
        if shutdown.grace == .zero {
            try? child.sendToGroup(.kill)
            return
        }
        // As good as infinity: a year.
        let grace = shutdown.grace ?? .seconds(365 * 86_400)
        tasks.add { _ = await child.terminate(grace: grace) }
    }

    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        envelope.end(.failure(CoordinatorError(.unsupported, "\(path) is a plain program: it answers no messages")))
    }

    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, patience: Patience) async throws -> JSONValue {
        throw CoordinatorError(rest.isEmpty ? .unsupported : .noSuchPath, "\(path) is a plain program: it has no coordinators below it")
    }

    /// A program that is paused gets no processor time: SIGSTOP, and SIGCONT to resume it.
    func pause(for reasons: PauseReasons) async {
        let child = state.withLock { state in
            state.isPaused = !reasons.isEmpty
            return state.child
        }
        try? child?.sendToGroup(reasons.isEmpty ? .continue : .stop)
    }

    func inherit(_ dependencies: Dependencies) {}

    func observeEvents() {}

    var isBusy: Bool { false }

    func kill() throws {
        guard let child = state.withLock({ $0.child }) else {
            throw CoordinatorError(.stopped, "\(path) has no process yet")
        }
        try child.send(.kill)
    }
}
