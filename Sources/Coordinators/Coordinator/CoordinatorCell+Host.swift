import ConcurrencySupport
import Processes
import WireProtocol

/// A child in the process of its parent: the coordinator itself is the host of its life.
///
/// It runs the `start` hook within its time, and tells its owner, the supervisor of the parent's children, exactly one outcome of the start
/// and, later, one end. What is needed for a start alone is dropped when it's over. A stop that comes before the start ends the start with it.
extension CoordinatorCell: ChildHost {
    typealias Conclusion = @Sendable (Result<Void, any Error>) -> Void

    /// The part of its life that a coordinator's owner knows of.
    enum HostPhase {
        /// The start hasn't been requested yet. Can transition to: beginning.
        case created(ConfigurationValue)
        /// The coordinator isn't ready yet; `nil`: there is nothing to note of its start. Can transition to: ready, over.
        case beginning(Box<Beginning>?)
        /// The coordinator is ready. Can transition to: ended.
        case ready
        /// The start hasn't succeeded, or the coordinator has ended at once.
        case over
        /// The end was requested.
        case ended(Stop)
    }

    /// The state that a start needs which isn't over at once, and that is dropped when the coordinator is ready.
    struct Beginning: Sendable {
        /// The configuration of a coordinator whose start hasn't been requested yet.
        var configuration: ConfigurationValue?
        /// The function that takes the outcome of the start, once.
        var concluded: Conclusion?
        /// The task of the `start` hook, once it runs.
        var hook: Task<Void, Never>?
        /// The timers that end the hook, by its own time limit and by that of a stop: they keep the coordinator alive, and are cancelled with
        /// the end of the start.
        var timers: [PatientTimer] = []
        /// The shutdown of a stop that was requested meanwhile.
        var shutdown: Shutdown?
        /// The reason of the coordinator's end by itself before its owner knew that it was ready.
        var earlyEnd: ExitReason?
    }

    /// The work of a start that isn't over at once.
    typealias RestOfStart = @Sendable () async throws -> Void

    var process: ProcessIdentity? { .current }

    /// The coordinator, unless its start hasn't been requested yet.
    var ifBegun: CoordinatorCell? {
        state.withLock { $0.life.hostPhase.isRequested } ? self : nil
    }

    /// Sends an event of this life to its owner.
    func report(_ event: HostEvent) {
        if let events = attributes.load()?.events?.value { return events.send(event) }
        event.send(to: parent?.existingSupervision, of: IncarnationID(key: path.key, incarnation: incarnation))
    }

    /// Whether nothing is left of the coordinator.
    var isOver: Bool { state.withLock { $0.life.phase == .stopped } }

    /// Sends an event of this life to its owner, unless the life is over.
    func tell(_ event: HostEvent) { if !isOver { report(event) } }

    /// Asks the parent, wherever it is, to dismiss this coordinator.
    func requestDismissal(timeout: Duration) async -> Bool {
        if isOver { return false }
        let waiting = HandlerScope.current?.beginWait()
        defer { waiting?.end() }
        return await HostEvent.requestDismissal(timeout: timeout) { report($0) }
    }

    func start() async throws {
        guard let rest = beginStart() else { return }
        let outcome = OneShot<Result<Void, any Error>>()
        proceed(rest) { outcome.settle($0) }
        try await outcome.value.get()
    }

    /// Creates the coordinator, and starts it if no hook has to be waited for.
    ///
    /// - Returns: What is left to be done by `proceed`; `nil` when the coordinator is ready.
    func beginStart() -> RestOfStart? {
        do throws(CoordinatorError) {
            let configuration = try takeConfiguration()
            #if !SLOW_PATH_ONLY
            if type.startsAtOnce { return startAtOnce(configuration) }
            #endif
            return { try await self.start(with: configuration) }
        } catch {
            return { throw error }
        }
    }

    /// Notes that the start is requested.
    ///
    /// - Returns: The configuration, as it arrives across the border, if there is one.
    /// - Throws: `stopped` when the coordinator was told to stop before.
    private func takeConfiguration() throws(CoordinatorError) -> ConfigurationValue {
        let configuration = try state.withLock { state throws(CoordinatorError) in
            switch state.life.hostPhase {
            case .created(let configuration):
                state.life.hostPhase = .beginning(nil)
                return configuration
            case .beginning(let beginning?):
                guard let configuration = beginning.value.configuration.take() else { break }
                if beginning.value.shutdown != nil { throw CoordinatorError.hasStopped(path) }
                return configuration
            case .beginning, .ready, .over, .ended: break
            }
            throw CoordinatorError(.stopped, "it has begun before")
        }
        return border == nil ? configuration : try Border.crossed(configuration, to: path)
    }

    /// Does the rest of a start.
    ///
    /// - Parameter concluded: A function that is called once, when the coordinator is ready, or nothing is left of it. It must not block.
    func proceed(_ rest: @escaping RestOfStart, _ concluded: @escaping Conclusion) {
        let isOpen = state.withLock { state in
            state.noteBeginning { beginning in
                if beginning.concluded != nil { return false }
                beginning.concluded = concluded
                return true
            }
        }
        guard isOpen == true else { return concluded(.failure(CoordinatorError.hasStopped(path))) }
        let limit = attributes.load()?.startTimeout ?? runtime.options.startTimeout
        // The timeout and the stop cancel the hook; one that ignores that is abandoned.
        let hook = HandlerScope.perform(in: nil) {
            runtime.time.task {
                do {
                    try await rest()
                    self.conclude(.success(()))
                } catch {
                    self.conclude(.failure(Failures.crossable(error)))
                }
            }
        }
        let isUnderWay = limitStart(to: limit, { $0.hook = hook }, { hook.cancel() }) { [path] in
            CoordinatorError(.startTimedOut, "\(path) was not ready within \(limit)")
        }
        if isUnderWay, let beginning = state.withLock({ $0.noteBeginning { $0 } }) { cancelIfStopped(beginning) }
    }

    /// Has a timer end a start that isn't over by then.
    ///
    /// - Parameters:
    ///   - change: A change of the start's data that goes with it.
    ///   - cancel: A function that is called after the end, since the error that a cancelled hook throws isn't the reason.
    /// - Returns: False when the start is over already.
    @discardableResult
    private func limitStart(
        to limit: Duration,
        _ change: (inout Beginning) -> Void = { _ in },
        _ cancel: @escaping @Sendable () -> Void = {},
        error: @escaping @Sendable () -> CoordinatorError
    ) -> Bool {
        let timer = PatientTimer(limit, of: runtime.time) {
            self.conclude(.failure(error()))
            cancel()
        }
        let isUnderWay = state.withLock { state in
            let noted: Void? = state.noteBeginning { beginning in
                beginning.timers.append(timer)
                change(&beginning)
            }
            return noted != nil
        }
        if !isUnderWay { timer.cancel() }
        return isUnderWay
    }

    /// Concludes the start with its outcome, the first that there is; a coordinator that isn't to be is ended before.
    private func conclude(_ result: Result<Void, any Error>) {
        let beginning = state.withLock { state -> Box<Beginning>? in
            guard case .beginning(let beginning?) = state.life.hostPhase else { return nil }
            if case .success = result, beginning.value.shutdown == nil {
                state.life.hostPhase = .ready
            } else {
                state.life.hostPhase = .over
            }
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
        runtime.time.task { [self] in
            _ = await shutDown(within: Stop(shutdown ?? .timeout(.seconds(5)), runtime.time))
            if case .failure(let error) = result, shutdown == nil || !(error is CancellationError) { return concluded(.failure(error)) }
            concluded(.failure(CoordinatorError.hasStopped(path)))
        }
    }

    /// Cancels the hook of a start that is to stop; a hook that ignores its cancellation is abandoned when the grace is over.
    private func cancelIfStopped(_ beginning: Beginning) {
        guard let hook = beginning.hook, let shutdown = beginning.shutdown else { return }
        hook.cancel()
        if let grace = shutdown.grace { limitStart(to: grace) { [path] in CoordinatorError.hasStopped(path) } }
    }

    func stop(_ shutdown: Shutdown) {
        #if !SLOW_PATH_ONLY
        if endAtOnce(shutdown) { return }
        #endif
        let (beginning, stop, isEnding) = state.withLock { state -> (Beginning?, Stop?, Bool) in
            switch state.life.hostPhase {
            case .created, .beginning:
                let beginning = state.noteBeginning { beginning -> Beginning? in
                    // A second stop can only shorten the time that is left.
                    if let former = beginning.shutdown, former.isShorter(than: shutdown) { return nil }
                    beginning.shutdown = shutdown
                    return beginning
                }
                return (beginning ?? nil, nil, false)
            case .ready:
                let stop = Stop(shutdown, runtime.time)
                state.life.hostPhase = .ended(stop)
                return (nil, stop, false)
            case .over:
                return (nil, nil, true)
            case .ended(let stop):
                if let grace = shutdown.grace { stop.shorten(to: grace) }
                return (nil, nil, true)
            }
        }
        if isEnding { hasten(shutdown) }
        if let beginning { cancelIfStopped(beginning) }
        if let stop { conclude(.shutdown, stop) }
    }

    /// Ends the life of a coordinator that ends by itself.
    func endByItself(_ reason: ExitReason) {
        let stop = state.withLock { state -> Stop? in
            switch state.life.hostPhase {
            case .created, .beginning:
                state.noteBeginning { $0.earlyEnd = reason }
                return nil
            case .ready:
                let stop = Stop(.timeout(.seconds(5)), hasFailed: !reason.isNormal, runtime.time)
                state.life.hostPhase = .ended(stop)
                return stop
            case .over, .ended:
                return nil
            }
        }
        guard let stop else { return }
        // Messages that are sent from now on wait for the next life, if there is one.
        report(.becameUnreachable)
        conclude(reason, stop)
    }

    private func conclude(_ reason: ExitReason, _ stop: Stop) {
        // The task ends with the coordinator, whose end is the event that the owner waits for; nothing may cancel the task.
        runtime.time.task { [self] in
            let isClean = await shutDown(within: stop)
            report(.exited(isClean ? reason : .stopTimedOut))
        }
    }

    func deliver(_ envelope: Envelope, to rest: ArraySlice<Substring>, isDirect: Bool) {
        guard let border else { return deliverHere(envelope, to: rest, isDirect: isDirect) }
        border.cross(envelope) { self.deliverHere($0, to: rest, isDirect: isDirect) }
    }

    /// Gives a message back to the parent, for the next life.
    func returnToParent(_ envelope: Envelope) {
        envelope.forgetTaker()
        report(.messageReturned(ParkedMessage(envelope: envelope, rest: [], isDirect: true)))
    }

    func observeEvents() {}

    var isBusy: Bool { hasMessages }

    var isLost: Bool {
        switch state.withLock({ $0.life.hostPhase }) {
        case .over, .ended: true
        case .created, .beginning, .ready: false
        }
    }

    func kill() throws { throw CoordinatorError(.notAWorker, "\(path) has no process of its own to kill") }
}

extension CoordinatorCell.HostPhase {
    /// Whether the start has been requested.
    fileprivate var isRequested: Bool {
        switch self {
        case .created: false
        case .beginning(let beginning): beginning?.value.configuration == nil
        case .ready, .over, .ended: true
        }
    }
}

extension CoordinatorCell.State {
    /// Changes what is noted of a start that isn't over.
    ///
    /// - Returns: The result of the change; `nil` when the start is over.
    @discardableResult
    fileprivate mutating func noteBeginning<Result>(_ change: (inout CoordinatorCell.Beginning) -> Result) -> Result? {
        let beginning: Box<CoordinatorCell.Beginning>
        switch life.hostPhase {
        case .created(let configuration): beginning = Box(CoordinatorCell.Beginning(configuration: configuration))
        case .beginning(let noted): beginning = noted ?? Box(CoordinatorCell.Beginning())
        case .ready, .over, .ended: return nil
        }
        life.hostPhase = .beginning(beginning)
        return change(&beginning.value)
    }
}
