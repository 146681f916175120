import ConcurrencySupport
import Processes
import WireProtocol

/// A child in the process of its parent.
///
/// It makes the ``CoordinatorCell``, runs the `start` hook within its time, and tells the parent's supervisor exactly one outcome of the start
/// and, later, one end. What is needed for a start alone is dropped when it's over. A stop that comes before the start ends the start with it.
final class LocalHost: ChildHost {
    typealias Conclusion = @Sendable (Result<Void, any Error>) -> Void

    enum Phase {
        /// The coordinator isn't ready yet. Can transition to: ready, ended.
        case beginning(Box<Beginning>)
        /// The coordinator is ready. Can transition to: ended.
        case ready
        case ended
    }

    /// The state that is needed until the coordinator is ready, and is dropped then.
    struct Beginning: Sendable {
        /// The values that the coordinator is created with; `nil` once it is.
        var parameters: CellParameters?
        /// The function that takes the outcome of the start, once.
        var concluded: Conclusion?
        /// The task of the `start` hook, once it runs.
        var hook: Task<Void, Never>?
        /// The timers that end the hook, by its own time limit and by that of a stop: they keep the coordinator alive, and are cancelled with
        /// the end of the start.
        var timers: [PatientTimer] = []
        /// The shutdown of a stop that was requested meanwhile.
        var shutdown: Shutdown?
        /// The reason of the coordinator's end by itself before the host knew that it was ready.
        var earlyEnd: ExitReason?
    }

    struct State {
        var phase: Phase
        var cell: CoordinatorCell?
        /// The end, once it has begun.
        var stop: CoordinatorCell.Stop?

        var beginning: Beginning? { if case .beginning(let beginning) = phase { beginning.value } else { nil } }
    }

    let events: HostEvents
    let state: Lock<State>

    init(_ parameters: CellParameters, events: consuming HostEvents) {
        self.events = events
        state = Lock(State(phase: .beginning(Box(Beginning(parameters: parameters)))))
    }

    var process: ProcessIdentity? { .current }

    /// The coordinator, once `start` has been called.
    var coordinator: CoordinatorCell? { state.withLock { $0.cell } }

    func start() async throws {
        guard let rest = startCell() else { return }
        let outcome = OneShot<Result<Void, any Error>>()
        proceed(rest) { outcome.settle($0) }
        try await outcome.value.get()
    }

    /// The parts of a start that isn't over at once.
    enum RestOfStart {
        /// The host was told to stop before the start began.
        case refusal(CoordinatorError)
        /// The coordinator has a hook that takes time, or its start has failed.
        case work(CoordinatorCell, within: Duration, @Sendable () async throws -> Void)
    }

    /// Creates the coordinator, and starts it if no hook has to be waited for.
    ///
    /// - Returns: What is left to be done by `proceed`; `nil` when the coordinator is ready.
    func startCell() -> RestOfStart? {
        let made: (cell: CoordinatorCell, configuration: ConfigurationValue, limit: Duration)
        do throws(CoordinatorError) { made = try makeNode() } catch { return .refusal(error) }
        let (cell, configuration, limit) = made
        #if !SLOW_PATH_ONLY
        if cell.type.startsAtOnce { return startAtOnce(cell, configuration, within: limit) }
        #endif
        return .work(cell, within: limit) { try await cell.start(configuration) }
    }

    /// Does the rest of a start.
    ///
    /// - Parameter concluded: A function that is called once, when the coordinator is ready, or nothing is left of it. It must not block.
    func proceed(_ rest: RestOfStart, _ concluded: @escaping Conclusion) {
        let (cell, limit, work): (CoordinatorCell, Duration, @Sendable () async throws -> Void)
        switch rest {
        case .refusal(let error): return concluded(.failure(error))
        case .work(let coordinator, let time, let body): (cell, limit, work) = (coordinator, time, body)
        }
        state.withLock { state in
            if case .beginning(let beginning) = state.phase { beginning.value.concluded = concluded }
        }
        // The timeout and the stop cancel the hook; one that ignores that is abandoned.
        let hook = HandlerScope.perform(in: nil) {
            cell.runtime.time.task {
                do {
                    try await work()
                    self.conclude(.success(()), cell)
                } catch {
                    self.conclude(.failure(Failures.crossable(error)), cell)
                }
            }
        }
        let isUnderWay = limitStart(of: cell, to: limit, { $0.hook = hook }, { hook.cancel() }) {
            CoordinatorError(.startTimedOut, "\(cell.path) was not ready within \(limit)")
        }
        if isUnderWay, let beginning = state.withLock({ $0.beginning }) { cancelIfStopped(beginning) }
    }

    /// Has a timer end a start that isn't over by then.
    ///
    /// - Parameters:
    ///   - change: A change of the start's data that goes with it.
    ///   - cancel: A function that is called after the end, since the error that a cancelled hook throws isn't the reason.
    /// - Returns: False when the start is over already.
    @discardableResult
    private func limitStart(
        of cell: CoordinatorCell,
        to limit: Duration,
        _ change: (inout Beginning) -> Void = { _ in },
        _ cancel: @escaping @Sendable () -> Void = {},
        error: @escaping @Sendable () -> CoordinatorError
    ) -> Bool {
        let timer = PatientTimer(limit, of: cell.runtime.time) {
            self.conclude(.failure(error()), cell)
            cancel()
        }
        let isUnderWay = state.withLock { state -> Bool in
            guard case .beginning(let beginning) = state.phase else { return false }
            beginning.value.timers.append(timer)
            change(&beginning.value)
            return true
        }
        if !isUnderWay { timer.cancel() }
        return isUnderWay
    }

    /// Creates the coordinator under one lock: dependencies arrive either before, and are among the parameters, or after, and go to the
    /// node.
    ///
    /// - Throws: `stopped` when the host was told to stop before the start began.
    private func makeNode() throws(CoordinatorError) -> (cell: CoordinatorCell, configuration: ConfigurationValue, limit: Duration) {
        try state.withLock { state throws(CoordinatorError) in
            guard case .beginning(let beginning) = state.phase, let parameters = beginning.value.parameters.take() else {
                throw CoordinatorError(.stopped, "it has begun before")
            }
            guard beginning.value.shutdown == nil else {
                state.phase = .ended
                throw CoordinatorError.hasStopped(parameters.path)
            }
            let limit = parameters.startTimeout
            let configuration: ConfigurationValue
            do throws(CoordinatorError) {
                configuration = try parameters.crossedConfiguration()
            } catch {
                state.phase = .ended
                throw error
            }
            let cell = CoordinatorCell(parameters, host: self)
            state.cell = cell
            return (cell, configuration, limit)
        }
    }

    /// Concludes the start with its outcome, the first that there is; a coordinator that isn't to be is ended before.
    private func conclude(_ result: Result<Void, any Error>, _ cell: CoordinatorCell) {
        let beginning = state.withLock { state -> Box<Beginning>? in
            guard case .beginning(let beginning) = state.phase else { return nil }
            if case .success = result, beginning.value.shutdown == nil { state.phase = .ready } else { state.phase = .ended }
            return beginning
        }
        // The phase has changed: from now on no other thread uses the box.
        guard let beginning, let concluded = beginning.value.concluded else { return }
        for timer in beginning.value.timers { timer.cancel() }
        let shutdown = beginning.value.shutdown
        if case .success = result, shutdown == nil {
            if let earlyEnd = beginning.value.earlyEnd { endByItself(earlyEnd) }
            return concluded(.success(()))
        }
        // The task ends with the coordinator; nothing may cancel the task.
        cell.runtime.time.task {
            _ = await cell.stop(CoordinatorCell.Stop(shutdown ?? .timeout(.seconds(5)), cell.runtime.time))
            if case .failure(let error) = result, shutdown == nil || !(error is CancellationError) { return concluded(.failure(error)) }
            concluded(.failure(CoordinatorError.hasStopped(cell.path)))
        }
    }

    /// Cancels the hook of a start that is to stop; a hook that ignores its cancellation is abandoned when the grace is over.
    private func cancelIfStopped(_ beginning: Beginning) {
        guard let hook = beginning.hook, let shutdown = beginning.shutdown, let cell = coordinator else { return }
        hook.cancel()
        if let grace = shutdown.grace { limitStart(of: cell, to: grace) { CoordinatorError.hasStopped(cell.path) } }
    }

    func stop(_ shutdown: Shutdown) {
        let (beginning, isReady, ending) = state.withLock { state -> (Beginning?, Bool, CoordinatorCell?) in
            switch state.phase {
            case .beginning(let beginning):
                // A second stop can only shorten the time that is left.
                if let former = beginning.value.shutdown, former.isShorter(than: shutdown) { return (nil, false, nil) }
                beginning.value.shutdown = shutdown
                return (beginning.value, false, nil)
            case .ready:
                state.phase = .ended
                state.stop = state.cell.map { CoordinatorCell.Stop(shutdown, $0.runtime.time) }
                return (nil, true, nil)
            case .ended:
                if let grace = shutdown.grace { state.stop?.shorten(to: grace) }
                return (nil, false, state.cell)
            }
        }
        ending?.hasten(shutdown)
        if let beginning { cancelIfStopped(beginning) }
        if isReady { conclude(.shutdown) }
    }

    /// Ends the life of a coordinator that ends by itself.
    func endByItself(_ reason: ExitReason) {
        let isReady = state.withLock { state -> Bool in
            switch state.phase {
            case .beginning(let beginning):
                beginning.value.earlyEnd = reason
                return false
            case .ready:
                state.phase = .ended
                state.stop = state.cell.map { CoordinatorCell.Stop(.timeout(.seconds(5)), hasFailed: !reason.isNormal, $0.runtime.time) }
                return true
            case .ended:
                return false
            }
        }
        guard isReady else { return }
        // Messages that are sent from now on wait for the next life, if there is one.
        events.send(.becameUnreachable)
        conclude(reason)
    }

    private func conclude(_ reason: ExitReason) {
        let (cell, stop) = state.withLock { ($0.cell, $0.stop) }
        guard let cell, let stop else { return }
        // The task ends with the coordinator, whose end is the event that the owner waits for; nothing may cancel the task.
        cell.runtime.time.task { [events] in
            let isClean = await cell.stop(stop)
            events.send(.exited(isClean ? reason : .stopTimedOut))
        }
    }

    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        guard let cell = coordinator else { return }
        guard let border = cell.border else { return cell.deliver(envelope, to: rest, isDirect: isDirect) }
        border.cross(envelope) { cell.deliver($0, to: rest, isDirect: isDirect) }
    }

    func operate(_ operation: Operation, on rest: ArraySlice<Substring>, budget: TimeoutBudget) async throws -> JSONValue {
        guard let cell = coordinator else { return [] }
        return try await cell.operate(operation, on: rest, budget: budget)
    }

    func pause(for reasons: PauseReasons) async { await changeInheritance { $0.pauseReasons = reasons }?.pause(for: reasons) }

    /// Gives a message back to the parent, for the next life.
    func handBack(_ envelope: Envelope) {
        envelope.forgetTaker()
        events.send(.messageReturned(ParkedMessage(envelope: envelope, rest: [], isDirect: true)))
    }

    func inherit(_ dependencies: Dependencies) { changeInheritance { $0.renew(dependencies) }?.inherit(dependencies) }

    func noteDrain() { changeInheritance { $0.isDraining = true }?.noteDrain() }

    func awaitRun() { coordinator?.awaitRun() }

    /// Changes the values that the coordinator will be created with.
    ///
    /// - Returns: The coordinator, if it has been created already.
    private func changeInheritance(_ change: (inout StartContext) -> Void) -> CoordinatorCell? {
        state.withLock { state in
            if case .beginning(let beginning) = state.phase, let parameters = beginning.value.parameters {
                change(&parameters.startContext)
            }
            return state.cell
        }
    }

    func observeEvents() {}

    var isBusy: Bool { coordinator?.hasMessages == true }

    var isLost: Bool {
        if case .ended = state.withLock({ $0.phase }) { true } else { false }
    }

    var isStuck: Bool { coordinator?.isStuck == true }

    func kill() throws {
        throw CoordinatorError(.notAWorker, "\(coordinator?.path.description ?? "the coordinator") has no process of its own to kill")
    }
}
