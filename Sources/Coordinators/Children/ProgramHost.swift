import ConcurrencySupport
import Processes
import WireProtocol

/// A plain program as a child: it's ready once it runs, and is stopped by signals.
final class ProgramHost: ChildHost {
    private struct State {
        var child: ChildProcess?
        var stopGrace: Duration??
        var isPaused: Bool
    }

    /// A time that counts as unlimited: a year.
    private static let forEver = Duration.seconds(365 * 86_400)

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
            // The signal is sent under the lock, so that a resume that comes now is sent after it.
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

    /// Ends what descends from the program after the program's own end, before its path lives again.
    private func ended(_ family: ProcessFamily) async {
        await runtime.end([family])
        await runtime.processEnded(family)
    }

    func stop(_ shutdown: Shutdown) {
        let grace = shutdown.grace
        let child = state.withLock { state -> ChildProcess? in
            // A second stop can only shorten the time that is left.
            if let former = state.stopGrace, former ?? Self.forEver <= grace ?? Self.forEver { return nil }
            state.stopGrace = .some(grace)
            return state.child
        }
        guard let child else { return }
        if grace == .zero {
            try? child.sendToGroup(.kill)
            return
        }
        tasks.add { _ = await child.terminate(grace: grace ?? Self.forEver) }
    }

    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        envelope.end(.failure(CoordinatorError(.unsupported, "\(path) is a plain program: it answers no messages")))
    }

    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue {
        throw CoordinatorError(rest.isEmpty ? .unsupported : .noSuchPath, "\(path) is a plain program: it has no coordinators below it")
    }

    /// Pauses the program by SIGSTOP, after which it gets no processor time, and resumes it by SIGCONT.
    func pause(for reasons: PauseReasons) async {
        // The signal is sent under the lock, so that the last signal matches the last request.
        state.withLock { state in
            state.isPaused = !reasons.isEmpty
            try? state.child?.sendToGroup(reasons.isEmpty ? .continue : .stop)
        }
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
