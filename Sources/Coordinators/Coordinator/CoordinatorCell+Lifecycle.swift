import ConcurrencySupport
import Logging

extension CoordinatorCell {
    /// Creates the coordinator and runs its `start` hook.
    func start(with configuration: ConfigurationValue) async throws {
        let instance = try make(configuration)
        guard store(instance, isReady: false) == .starting else {
            await runtime.features.close(instance, of: self)
            throw CoordinatorError.hasStopped(path)
        }
        try await proceed(instance)
    }

    func make(_ configuration: ConfigurationValue) throws -> any Coordinator {
        if let error = type.policyError {
            throw CoordinatorError(.startFailed, "\(path): the supervision policy of \(type.name): \(error)")
        }
        try runtime.types.names.check(type)
        return try type.make(self, configuration)
    }

    /// Stores the coordinator, and makes it active if it's ready and doesn't begin paused.
    ///
    /// - Returns: The phase then. A coordinator that was stopped meanwhile isn't stored, since the objects that it has made would keep it
    ///   alive.
    func store(_ instance: any Coordinator, isReady: Bool) -> Phase {
        let (phase, run) = state.withLock { state -> (Phase, MailboxRun?) in
            guard state.life.phase == .starting else { return (state.life.phase, nil) }
            state.life.instance = instance
            if isReady, state.pauseReasons.isEmpty { state.life.phase = .active }
            return (state.life.phase, state.mailboxRunToBegin())
        }
        // Messages may have arrived before there was an instance to drain them.
        if let run { runMailbox(run) }
        if phase == .starting || phase == .active { runtime.features.isMade(self) }
        return phase
    }

    /// Runs the `start` hook, makes the coordinator active, and begins what it does while it's active.
    func proceed(_ instance: any Coordinator) async throws {
        if type.isDurable { try await runtime.features.prepare(instance, of: self) }
        try await instance.start()
        let isActive = state.withLock { state -> Bool in
            guard state.life.phase == .starting else { return false }
            state.life.phase = .active
            return true
        }
        guard isActive else { throw CoordinatorError.hasStopped(path) }
        await beginPaused()
        beginRunHook(instance)
        runtime.features.hasStarted(instance, of: self)
    }

    func beginRunHook(_ instance: any Coordinator) {
        runtime.features.isReady(self)
        if type.lacks(.run) { return }
        let task = Task.immediate(executorPreference: runtime.time.executor) {
            do {
                try await instance.run()
                self.end(.returned)
            } catch RunHook.absent {
            } catch {
                // A hook that ends because it was cancelled has been stopped, whatever it throws.
                if !Task.isCancelled { self.end(.failed(.failed(String(describing: error)))) }
            }
            self.state.withLock { state in
                (state.runTask, state.life.hasRun) = (nil, true)
            }
        }
        let mustCancel = state.withLock { state -> Bool in
            if state.life.hasRun { return false }
            switch state.life.phase {
            case .active, .draining: state.runTask = task
            case .starting, .stopping, .stopped: return true
            }
            return false
        }
        if mustCancel { task.cancel() }
    }

    /// Ends the subtree: what was taken, if the stop drains, children in the order of the policy, then the handlers, then the `stopped` hook if
    /// `start` has succeeded.
    ///
    /// The cancelled handlers and the hook after them share the grace, and with the drain and the children if there is a drain.
    ///
    /// - Returns: False when some code ignored its cancellation past the grace and had to be abandoned.
    func shutDown(within stop: Stop) async -> Bool {
        await drain(for: stop)
        // Another call may have begun the stop.
        guard let begun = beginStop(stop) else {
            if let grace = stop.grace.limit { hasten(.timeout(grace)) }
            return await state.withLock { $0.stop }?.end.value ?? true
        }
        // The readers of a coordinator that has failed get the error that ends their handlers.
        if !stop.hasFailed { runtime.features.beginsToEnd(self) }
        let limit = stop.grace
        if stop.hasFailed, type.table.isPool { begun.children?.withdrawAll() }
        existingOpenAsks?.end(with: .hasStopped(path), forGood: false)
        endPause(stop.hasFailed)
        beginWhatDescendantsAsk()
        // The end may have been hastened before it began.
        if let haste = limit.haste { hasten(.timeout(haste)) }
        if let children = begun.children { await children.shutDown(within: stop) }
        cancelHandlers()
        let areIdle = isAtRest ? true : await limit.within { await self.waitUntilIdle() }
        var hasStopped = true
        if let instance = begun.instance, !type.stopsAtOnce {
            hasStopped = await limit.within {
                if begun.hasStarted { await instance.stopped() }
                await self.runtime.features.close(instance, of: self)
            }
        }
        close()
        stop.end.settle(areIdle && hasStopped)
        return areIdle && hasStopped
    }

    /// Whether no handler runs, nor the `run` hook.
    private var isAtRest: Bool { state.withLock { $0.isIdle && $0.runTask == nil } }

    /// The parts of the coordinator that a stop has to end.
    private struct BegunStop {
        let instance: (any Coordinator)?
        let hasStarted: Bool
        let children: (any ChildSupervision)?
    }

    /// Begins the stop.
    ///
    /// - Returns: `nil` when the stop has begun before.
    private func beginStop(_ stop: Stop) -> BegunStop? {
        state.withLock { state in
            switch state.life.phase {
            case .starting, .active: break
            case .draining: guard state.stop === stop else { return nil }
            case .stopping, .stopped: return nil
            }
            let hasStarted = state.life.phase != .starting
            state.begin(stop, .stopping)
            // The stop waits for the coordinators below, which may ask this one while they end.
            state.mailbox.handlerWaits()
            return BegunStop(instance: state.life.instance, hasStarted: hasStarted, children: state.supervision)
        }
    }

    /// Ends the messages that a paused coordinator has not begun; the coordinators below may still ask it while they end.
    func endPause(_ isFailure: Bool) {
        let waiting = state.withLock { state -> [Mailbox.Item] in
            guard state.mailbox.isPaused else { return [] }
            state.mailbox.resume()
            return state.mailbox.removeMessages()
        }
        for item in waiting { giveUp(item, hasFailed: isFailure) }
        endDrainWaits()
    }

    /// Begins the messages of the subtree that have waited for a handler to end.
    private func beginWhatDescendantsAsk() {
        if let run = state.withLock({ $0.mailboxRunToBegin() }) { runMailbox(run) }
    }

    private func cancelHandlers() {
        let (handlers, run) = state.withLock { state in
            state.life.cancelsHandlers = true
            state.mailbox.close()
            return (state.handlers.running.values.compactMap(\.task), state.runTask)
        }
        run?.cancel()
        for handler in handlers { handler.cancel() }
    }

    private func waitUntilIdle() async {
        let run = state.withLock { $0.runTask }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state -> Bool in
                if state.isIdle { return true }
                state.extras.idleWaiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
        await run?.value
    }

    private func close() {
        let (waiting, abandoned, former) = state.withLock { state in
            // The objects that are dropped here are released outside the lock.
            let former = (
                life: state.life, stop: state.stop, run: state.runTask, handlers: state.handlers, children: state.supervision,
                drainWaits: state.extras.drainWaits, drainNotice: state.extras.drainNotice
            )
            if state.hasExtras { state.extras.drainWaits = [] }
            state.handlers.batch = []
            (state.life.phase, state.life.instance) = (.stopped, nil)
            (state.runTask, state.supervision) = (nil, nil)
            return (state.mailbox.removeAll(), Array(former.handlers.running.values), former)
        }
        endWaitingForChildren()
        runtime.features.hasEnded(self)
        let hasFailed = former.stop?.hasFailed == true
        endOpenAsks()
        former.children?.refuse()
        for handler in abandoned { handler.hook?.settle(()) }
        for item in waiting { giveUp(item, hasFailed: hasFailed) }
        for envelope in abandoned.map(\.envelope) + former.handlers.batch.map(\.envelope) {
            envelope?.end(.failure(endError(hasFailed, maybeExecuted: true)))
        }
        for wait in former.drainWaits { wait.end.settle(()) }
        former.drainNotice?.beginning.settle(false)
    }

    /// Ends a message that waited and never begins: its asker gets an error, and an accepted one-way message becomes a dead letter.
    ///
    /// One of a pool that has failed is given to the pool's next life instead.
    private func giveUp(_ item: Mailbox.Item, hasFailed: Bool) {
        switch item {
        case .message(let envelope, _):
            if hasFailed, type.table.isPool, !envelope.isWithdrawn { return returnToParent(envelope) }
            // One that has ended already was accepted: its sender isn't informed any more.
            if envelope.endIfOpen(.failure(endError(hasFailed, maybeExecuted: false))) { return }
            guard envelope.isOneWay, !envelope.isWithdrawn else { return }
            let letter = DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: .stopped)
            for _ in 0..<envelope.count { runtime.observation.deadLetters.record(letter) }
        case .dismissal(_, let decision): decision.settle(.refuse)
        case .event(let child, _):
            runtime.observation.deadLetters.record(DeadLetter(name: child.typeName, sender: child.path, target: path, reason: .stopped))
        case .lifecycle, .popped, .unhandled: break
        }
    }

    /// Returns the error of an ask that ends with this coordinator.
    func endError(_ hasFailed: Bool, maybeExecuted: Bool) -> CoordinatorError {
        guard hasFailed else { return .hasStopped(path, maybeExecuted: maybeExecuted) }
        return CoordinatorError(.peerLost, "\(path) has failed", maybeExecuted: maybeExecuted)
    }
}

extension CoordinatorCell {
    /// Shortens the end of a subtree that is stopping: from now on no child is given longer than this, nor are the coordinator's own
    /// handlers and its hook.
    ///
    /// The call never lengthens the time that was granted before, and does nothing to a subtree that isn't stopping. `brutalKill` kills all
    /// processes below at once.
    func hasten(_ shutdown: Shutdown) {
        guard let limit = shutdown.grace else { return }
        let (stop, children) = state.withLock { state in
            switch state.life.phase {
            case .draining, .stopping: (state.stop, state.supervision)
            case .starting, .active, .stopped: (nil, nil)
            }
        }
        guard let stop else { return }
        stop.shorten(to: limit)
        children?.hasten(shutdown)
    }
}

// MARK: - Configuration

extension CoordinatorCell {
    /// Sets the configuration, which the coordinator reads through its context.
    func configure<Configuration: Codable & Sendable>(with configuration: Box<Configuration>) {
        if Configuration.self == NoConfiguration.self { return }
        state.withLock { $0.configuration = configuration }
    }

    func configure<Configuration: Codable & Sendable>(backTo former: Box<Configuration>, from present: Box<Configuration>) {
        state.withLock { if $0.configuration === present { $0.configuration = former } }
    }

    /// Returns the configuration.
    ///
    /// - Parameter type: The type of the coordinator's configuration.
    func configuration<Configuration: Codable & Sendable>(of type: Configuration.Type) -> Box<Configuration> {
        let box: any AnyObject & Sendable = state.withLock { $0.configuration } ?? ConfigurationValue.emptyBox
        // The type is the coordinator's own, and a coordinator is made after its configuration is set.
        return unsafeDowncast(box, to: Box<Configuration>.self)
    }
}

// MARK: - Pausing

extension CoordinatorCell {
    /// The situation of a parent when it starts a child.
    struct Situation {
        /// Whether the parent is paused, for any reason.
        let isPaused: Bool
        /// Whether its `start` hook runs, whose children end in reverse start order; those of a pool have no order.
        let isStarting: Bool
    }

    var situation: Situation {
        state.withLock { state in
            Situation(
                isPaused: state.life.phase == .active && !state.pauseReasons.isEmpty,
                isStarting: state.life.phase == .starting && !type.table.isPool
            )
        }
    }

    /// Replaces the reasons for which the coordinator is paused; returns when it and the coordinators below it have followed.
    ///
    /// New messages wait from the first reason on, until the last one is gone. Handlers that have begun go on, and so does control.
    func pause(for reasons: PauseReasons) async {
        let isChange = state.withLock { $0.pauseReasons != reasons || $0.hasExtras && $0.extras.transitions != nil }
        guard isChange else { return }
        await lock(\.transitions).pass { [self] in
            state.withLock { $0.pauseReasons = reasons }
            await followReasons()
        }
    }

    /// Pauses a coordinator that begins paused, because it was paused in its former life or its parent is.
    func beginPaused() async {
        if state.withLock({ $0.pauseReasons.isEmpty }) { return }
        await lock(\.transitions).pass { [self] in await followReasons() }
    }

    private func followReasons() async {
        let isPause = state.withLock { state -> Bool? in
            // While the coordinator starts, the reasons are only noted.
            guard state.life.phase == .active, state.mailbox.isPaused == state.pauseReasons.isEmpty else { return nil }
            if !state.mailbox.isPaused { state.mailbox.pause() }
            return !state.pauseReasons.isEmpty
        }
        switch isPause {
        case true?: await takeUpPause()
        case false?: await resume()
        case nil: break
        }
    }

    private func takeUpPause() async {
        await existingSupervision?.cascade(isPaused: true)
        await runHook { await $0.paused() }
    }

    private func resume() async {
        await runHook { await $0.resumed() }
        await existingSupervision?.cascade(isPaused: false)
        let (run, holdsUpAsks) = state.withLock { state -> (MailboxRun?, Bool) in
            // The coordinator may have been paused again, or stopped; the former change waits for its turn.
            guard state.life.phase == .active else { return (nil, false) }
            state.mailbox.resume()
            return (state.mailboxRunToBegin(), state.mailbox.holdsUpAsks)
        }
        if let run { runMailbox(run) }
        if holdsUpAsks { watchForCycles() }
        runtime.features.isResumed(self)
    }
}
