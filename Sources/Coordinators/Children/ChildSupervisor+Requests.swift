import ConcurrencySupport
import WireProtocol

extension ChildSupervisor {
    /// Starts a child, or joins the start or the life of one of the same type under the key, and returns when it's ready.
    ///
    /// Cancelling the waiting task removes the child that it has requested.
    ///
    /// - Parameter end: Settled when the child ends for good.
    /// - Returns: The number of the key's tenancy, for a clean-up that must not affect a later child under the key.
    @discardableResult
    func start(_ definition: ChildDefinition, end: ChildSlot.End? = nil, initiator: Initiator = .parent) async throws -> UInt64 {
        let key = definition.key
        try node.path.check(key)
        // The start is requested before the first suspension, so that two starts that begin one after the other are in that order.
        let (tenancy, start) = try request(definition, end, initiator)
        guard let start else { return tenancy }
        let waiting = HandlerScope.current?.beginWait()
        defer { waiting?.end() }
        try await withTaskCancellationHandler {
            try await start.value.get()
        } onCancel: {
            cancel(start, of: key)
        }
        return tenancy
    }

    /// The outcome of a request for a start.
    fileprivate enum StartRequest {
        case refused(any Error)
        /// The child lives already, and is ready.
        case ready(tenancy: UInt64)
        /// The child is to be started, and this thread has to begin its life. `former`: the slot of the life before.
        case new(tenancy: UInt64, NewLife, former: ChildSlot?)
        /// The child is starting, or is to be started in its turn. `former`: the slot of the life before, which may be stopping.
        case requested(tenancy: UInt64, ChildSlot.Start, former: ChildSlot?)
    }

    /// Requests a start.
    ///
    /// - Returns: The tenancy, and the value to wait for; `nil` when the child is ready.
    private func request(
        _ definition: ChildDefinition,
        _ end: ChildSlot.End?,
        _ initiator: Initiator
    ) throws -> (tenancy: UInt64, ChildSlot.Start?) {
        let request = mutateAndPerform { state in
            // The pause is read under this lock, so that a later pause finds the child among those to be paused.
            state.request(definition, end, initiator, isPaused: node.isPaused, of: self)
        }
        switch request {
        case .refused(let error): throw error
        case .ready(let tenancy): return (tenancy, nil)
        case .new(let tenancy, let life, let former):
            if let former { endRun(of: former) }
            return (tenancy, begin(life, isAwaited: true))
        case .requested(let tenancy, let start, let former):
            if let former { endRun(of: former) }
            return (tenancy, start)
        }
    }

    /// Tells the callers that wait for a former life's end, which must not get the outcome of the new life.
    private func endRun(of former: ChildSlot) {
        var record = former.record
        let error = CoordinatorError(.stopped, "\(node.path.appending(former.definition.key)) was stopped, and is started anew")
        for outcome in record.takeEnds(otherwise: error) { outcome.tell() }
    }

    private func cancel(_ start: ChildSlot.Start, of key: String) {
        guard start.settle(.failure(CancellationError())) else { return }
        mutateAndPerform { state in
            let isLast = state.slots.with(key) { slot in
                let former = slot.starts.count
                slot.starts.removeAll { $0 === start }
                return former == 1 && slot.starts.isEmpty
            }
            if isLast == true { state.feed(.removeRequested(key)) }
        }
    }

    /// Starts a stopped child again, as an operator does; a child that waits for its restart is started at once.
    func startAgain(_ key: String) async throws {
        // A child that the machine has forgotten is gone, though its slot may exist for a moment longer.
        let (definition, waits) = state.withLock { state in
            (state.machine.state(of: key) == nil ? nil : state.slots.with(key) { $0.definition }, state.isWaiting(key))
        }
        guard let definition else { throw noSuchChild(key) }
        if waits { return try await restart(key) }
        try await start(definition, initiator: .operator)
    }

    /// Stops a child and returns when nothing is left of it.
    ///
    /// The call can't be cancelled: a stop always takes effect.
    ///
    /// - Parameters:
    ///   - forgets: Whether the key is free afterwards; otherwise an operator can start the child again.
    ///   - tenancy: The tenancy to which the stop applies; nothing happens when the key has been taken again since.
    func stop(_ key: String, initiator: Initiator, forgets: Bool, tenancy: UInt64? = nil) async throws {
        let waiting = HandlerScope.current?.beginWait()
        defer { waiting?.end() }
        let event = forgets ? Supervisor.Event.removeRequested(key) : .stopRequested(key)
        let end = OneShot<Void>()
        let mustWait = mutateAndPerform { state -> Bool? in
            let lives = state.isAlive(key) || state.isEnding(key)
            let incarnation = state.machine.state(of: key)?.incarnation
            let isMeant = state.slots.with(key) { slot in
                guard tenancy == nil || slot.tenancy.number == tenancy else { return false }
                if lives {
                    slot.record.stops.append(ChildSlot.Stop(incarnation: incarnation ?? slot.incarnation, end: end))
                    slot.record.stopInitiator = initiator
                }
                return true
            }
            guard isMeant == true else { return nil }
            state.feed(event)
            return lives
        }
        guard let mustWait else { throw noSuchChild(key) }
        if mustWait { await end.value }
    }

    /// Stops a child, whatever its state, and starts it again; returns when it's ready.
    func restart(_ key: String) async throws {
        let waiting = HandlerScope.current?.beginWait()
        defer { waiting?.end() }
        let start = mutateAndPerform { state -> ChildSlot.Start? in
            guard state.phase == .open, let slot = state.slots.box(key) else { return nil }
            slot.value.phase.hold()
            let start = slot.value.awaitStart()
            state.feed(.restartRequested(key))
            return start
        }
        guard let start else { throw noSuchChild(key) }
        try await start.value.get()
    }

    /// Kills a child's process, as `kill -9` would; supervision then treats it as a crash.
    func kill(_ key: String) throws {
        guard let host = try host(of: key) else {
            throw CoordinatorError(.stopped, "\(node.path.appending(key)) isn't running")
        }
        try host.kill()
    }

    func host(of key: String) throws -> (any ChildHost)? {
        guard let host = withSlot(key, { $0.host }) else { throw noSuchChild(key) }
        return host
    }

    func noSuchChild(_ key: String) -> CoordinatorError {
        CoordinatorError(.noSuchChild, "\(node.path) has no child '\(key)'")
    }

    /// Asks the coordinator's row, in its turn, whether a child may be dismissed.
    ///
    /// - Returns: Whether the child is being stopped. When the time is over the child stays, whatever the row decides.
    func dismissalRequested(by life: ChildInstance, timeout: Duration) async -> Bool {
        guard let child = handle(of: life.key), child.incarnation == life.incarnation else { return false }
        let answer = OneShot<DismissalDecision>()
        let deadline = MonotonicTime.now + timeout
        if node.type.table.dismissal != nil {
            node.post(.dismissal(child, answer))
        } else {
            answer.settle(node.isFirstOnOwnStack(child.path) ? .forward : .dismiss)
        }
        switch await answer.value(before: deadline) {
        case .refuse, nil: return false
        case .forward: return await node.requestDismissal(timeout: timeout)
        case .dismiss: return dismiss(life.key, life.incarnation, "was dismissed")
        }
    }

    /// Stops and removes a child that its parent dismisses, or whose pages were popped; a later incarnation isn't affected.
    ///
    /// - Returns: Whether the child is being stopped.
    @discardableResult
    func dismiss(_ key: String, _ incarnation: Incarnation, _ cause: String) -> Bool {
        mutateAndPerform { state in
            guard state.isAlive(key) else { return false }
            let isMeant = state.slots.with(key) { slot in
                guard slot.incarnation == incarnation else { return false }
                slot.record.lastError = CoordinatorError(.dismissed, "\(node.path.appending(key)) \(cause)")
                return true
            }
            guard isMeant == true else { return false }
            state.feed(.removeRequested(key))
            return true
        }
    }
}

extension ChildSupervisor.State {
    fileprivate mutating func request(
        _ definition: ChildDefinition,
        _ end: ChildSlot.End?,
        _ initiator: ChildSupervisor.Initiator,
        isPaused: Bool,
        of supervisor: ChildSupervisor
    ) -> ChildSupervisor.StartRequest {
        let key = definition.key
        let parent = supervisor.node.path
        if phase != .open { return .refused(CoordinatorError.hasStopped(parent)) }
        if Task.isCancelled { return .refused(CancellationError()) }
        let slot: Box<ChildSlot>
        var former: ChildSlot?
        var present: ChildState?
        // The machine knows no child without a slot.
        let known = slots.box(key)
        if known != nil { present = machine.state(of: key) }
        if let living = known, present?.isAlive == true {
            let typeName = living.value.definition.typeName
            guard typeName == definition.typeName else {
                let message = "\(parent.appending(key)) is a \(typeName), not a \(definition.typeName)"
                return .refused(CoordinatorError(.keyInUse, message))
            }
            slot = living
        } else {
            (slot, former) = slots.begin(definition, in: known)
            slot.value.renew(pausedFor: isPaused ? .cascade : [], by: initiator)
        }
        if let end { slot.value.record.ends.append(end) }
        let tenancy = slot.value.tenancy.number
        if present?.kind == .running { return .ready(tenancy: tenancy) }
        let decided = machine.handle(.startRequested(definition.specification), now: MonotonicTime.now.sinceOrigin)
        // The usual decision is carried out by this thread: the children of a burst of starts don't wait for one another. It must not
        // overtake others, which may concern the former life of the key.
        if outbox.isIdle, definition.isInProcess, decided.count == 1, case .start(_, let incarnation, let attempt) = decided[0] {
            return .new(tenancy: tenancy, supervisor.makeLife(in: slot, incarnation, attempt), former: former)
        }
        outbox.add(decided)
        return .requested(tenancy: tenancy, slot.value.awaitStart(), former: former)
    }
}
