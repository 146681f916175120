import ConcurrencySupport
import Logging
import Synchronization

extension CoordinatorCell {
    /// Takes a message for one of this coordinator's rows.
    ///
    /// Messages begin in the order in which they are taken.
    func accept(_ envelope: Envelope, _ row: MessageRow) {
        // What is only handed on is taken elsewhere, and what a flow takes is noted with its change.
        if let delivery = envelope.delivery, delivery.isRelayed, row.inline?.isForwarding != true, !row.isDurable {
            if let message = deduplicated(envelope, delivery) { accept(message, row) }
            return
        }
        if let inline = row.inline, answer(envelope, row, inline) { return }
        let isFromSubtree = isFromSubtree(envelope.sender)
        envelope.noteTaker(self)
        let (admission, run, mustLearn, isHeldUp) = state.withLock { state -> (Mailbox.Admission?, MailboxRun?, Bool, Bool) in
            switch state.life.phase {
            case .starting, .active: break
            case .draining: guard envelope.sender == path || isFromSubtree else { return (nil, nil, false, false) }
            case .stopping: guard envelope.sender != path, isFromSubtree else { return (nil, nil, false, false) }
            case .stopped: return (nil, nil, false, false)
            }
            let standing = row.needs.isEmpty ? .provided : row.needs.standing(in: state.dependencies.effective)
            let admission = state.mailbox.enqueue(envelope, row, isFromSubtree: isFromSubtree, isNeeding: standing != .provided)
            return (admission, state.mailboxRunToBegin(), standing == .unread, state.mailbox.isHeldUp)
        }
        if mustLearn { learnWhatIsNeeded() }
        switch admission {
        case nil: return envelope.end(.failure(isDraining ? CoordinatorError.drains(path) : .hasStopped(path)))
        case .admitted: releaseCredit(envelope, row)
        case .delayed: break
        case .instead(let oldest):
            releaseCredit(envelope, row)
            for (envelope, row) in oldest { drop(envelope, row) }
        case .refused: if envelope.wantsAnswer { envelope.end(.failure(isFull(for: envelope))) } else { drop(envelope, row) }
        case .dropped:
            if envelope.isOneWay { envelope.complete(.success(.none)) }
            drop(envelope, row)
        }
        if let run { runMailbox(run, for: row) }
        if isHeldUp, !envelope.isOneWay { watchForCycles() }
    }

    /// Returns whether the sender of a message is below this coordinator, or one of its own handlers.
    ///
    /// Messages from outside the tree name the coordinator itself as their sender, as its own do.
    func isFromSubtree(_ sender: CoordinatorPath) -> Bool {
        sender == path ? HandlerScope.current?.belongs(to: self) == true : sender.isWithin(path)
    }

    /// Notes that the mailbox has room for a message, which no longer counts as under way on its link.
    func releaseCredit(_ envelope: Envelope, _ row: MessageRow) {
        envelope.release()
        if envelope.isOneWay, !row.isInterceptor { envelope.complete(.success(.none)) }
    }

    private func drop(_ envelope: Envelope, _ row: MessageRow) {
        runtime.observation.deadLetters.record(
            DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: .mailboxFull(type.mailbox.value.whenFull))
        )
        envelope.end(envelope.wantsAnswer ? .failure(isFull(for: envelope)) : .success(.none))
    }

    private func isFull(for envelope: Envelope) -> CoordinatorError {
        let policy = type.mailbox.value
        return CoordinatorError(
            .mailboxFull,
            "at \(path) wait \(policy.waiting) messages or \(policy.bytes) bytes, as many as may; \(envelope.body.name) was dropped"
        )
    }

    /// Queues an item that isn't a message, in order with the messages; a pause doesn't delay it.
    func post(_ item: Mailbox.Item) {
        let (dropped, run) = state.withLock { state -> ([Mailbox.Item], MailboxRun?) in
            guard state.life.phase != .stopped else { return ([item], nil) }
            let dropped = state.mailbox.append(item)
            return (dropped, state.mailboxRunToBegin())
        }
        for item in dropped {
            switch item {
            case .event(let child, _):
                runtime.observation.deadLetters.record(
                    DeadLetter(name: child.typeName, sender: child.path, target: path, reason: .observerTooSlow)
                )
            case .dismissal(_, let decision): decision.settle(.refuse)
            default: break
            }
        }
        if let run { runMailbox(run) }
    }

    /// Handles a message by a row that doesn't suspend, without a task, or all messages that share an envelope.
    func handle(_ item: Mailbox.Item, _ envelope: Envelope, _ row: MessageRow, on instance: isolated any Coordinator) {
        if envelope.isOneWay { envelope.complete(.success(.none)) }
        for _ in 1..<envelope.count {
            conclude(envelope, row, handleAtOnce(envelope) { try row.immediate?(instance, envelope) ?? .none })
        }
        let result = handleAtOnce(envelope) { try row.immediate?(instance, envelope) ?? .none }
        // Before the answer, so that the asker's next message finds room.
        ended(item)
        conclude(envelope, row, result)
    }

    /// Runs a body that doesn't suspend, in the trace of its message and within the instruments.
    func handleAtOnce(_ envelope: Envelope, _ body: () throws -> Answer) -> Result<Answer, any Error> {
        inTrace(of: envelope) {
            guard runtime.observation.instruments.areActive else { return Result { try body() } }
            return Result { try runtime.observation.instruments.aroundAtOnce(MessageInfo(envelope, handledBy: self), next: body) }
        }
    }

    /// Runs a handler that doesn't suspend in the trace of its message, so that its own messages belong to it.
    private func inTrace<Result>(of envelope: Envelope, _ body: () -> Result) -> Result {
        guard let trace = TraceContext(envelope.trace) else { return body() }
        return TraceContext.$current.withValue(trace, operation: body)
    }

    func perform(_ item: Mailbox.Item, on instance: isolated any Coordinator) async {
        switch item {
        case .message(let envelope, let row):
            await handle(envelope, row, on: instance)
        case .lifecycle(let child, let change):
            for body in type.table.lifecycle { await body(instance, child, change) }
        case .event(let child, let event):
            for body in type.table.observers[child.typeName] ?? [] {
                do {
                    try await body(instance, child, event)
                } catch {
                    let letter = DeadLetter(name: child.typeName, sender: child.path, target: path, reason: .undeliverable("\(error)"))
                    runtime.observation.deadLetters.record(letter)
                }
            }
        case .dismissal(let child, let decision):
            decision.settle(await type.table.dismissal?(instance, child) ?? .dismiss)
        case .popped(let page):
            do { try await type.popped(instance, page) } catch { logger.error("a page is none of this coordinator's: \(error)") }
        case .unhandled(let message):
            await instance.unhandled(message)
        }
    }

    private func handle(_ envelope: Envelope, _ row: MessageRow, on instance: isolated any Coordinator) async {
        if envelope.isOneWay, !row.isInterceptor { envelope.complete(.success(.none)) }
        let result: Result<Answer, any Error>
        do {
            // What is only handed on is handled elsewhere.
            if runtime.observation.instruments.areActive, row.inline?.isForwarding != true {
                let answer = try await runtime.observation.instruments.around(MessageInfo(envelope, handledBy: self)) {
                    try await row.body(instance, envelope, self, row.index)
                }
                result = .success(answer)
            } else {
                result = .success(try await row.body(instance, envelope, self, row.index))
            }
        } catch {
            result = .failure(error)
        }
        conclude(envelope, row, result)
    }

    func conclude(_ envelope: Envelope, _ row: MessageRow, _ result: Result<Answer, any Error>) {
        if envelope.isStuck.load(ordering: .relaxed) { noteUnstuck(envelope) }
        switch result {
        // A one-way message was accepted before its handler began, unless the handler intercepts.
        case .success where envelope.isOneWay && !row.isInterceptor: break
        case .success(let answer): envelope.complete(.success(envelope.isOneWay ? .none : answer))
        case .failure(let error): fail(envelope, row, error)
        }
    }

    private func fail(_ envelope: Envelope, _ row: MessageRow, _ error: any Error) {
        if error is MessageHandedBack { return }
        // A handler that the stop has cancelled has not been cancelled by its asker, which gets an error about the stop; nor has one of a pool whose
        // members have ended, because it has failed, a moment before its handlers are cancelled.
        let (areCancelled, hasFailed) = state.withLock { ($0.life.cancelsHandlers, $0.stop?.hasFailed == true) }
        let isStopped = (areCancelled || hasFailed) && error is CancellationError
        // No coordinator further up responded: the sender gets the error that the message wasn't accepted.
        let isUnhandled = row.isInterceptor && (error as? CoordinatorError)?.code == .unhandled
        if envelope.isOneWay, !isUnhandled {
            let isPoisoned = (error as? CoordinatorError)?.code == .poisoned
            let reason: DeadLetter.Reason = isStopped ? .stopped : isPoisoned ? .poisoned : .handlerFailed("\(error)")
            runtime.observation.deadLetters.record(
                DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: reason)
            )
            if !isStopped {
                logger.warning(
                    "a handler of a one-way message failed",
                    metadata: ["message.name": "\(envelope.body.name)", "message.sender": "\(envelope.sender)", "error": "\(error)"]
                )
            }
        }
        // An interceptor that passes on that there is no responder isn't one.
        if isUnhandled, envelope.isAcknowledged { return envelope.complete(.failure(error)) }
        // The loss is recorded, and no sender waits for the error.
        if envelope.isOneWay, !isUnhandled, !envelope.wantsAnswer { return envelope.complete(.success(.none)) }
        let end: any Error =
            if isStopped {
                endError(hasFailed, maybeExecuted: envelope.mayBeExecuted)
            } else if row.isRelay || row.isInterceptor && envelope.isRefused && (error as? CoordinatorError)?.maybeExecuted == false {
                // The refusal of those further on, with its proof.
                Failures.crossable(error)
            } else {
                Failures.thrownByHandler(error)
            }
        envelope.complete(.failure(end))
    }

    /// Logs and records a message of which a pool's members have died.
    func notePoisoned(_ envelope: Envelope) {
        logger.error(
            "a message is poisoned: each member of the pool that handled it has died",
            metadata: ["message.name": "\(envelope.body.name)", "message.sender": "\(envelope.sender)"]
        )
        // Of a one-way message the letter is recorded where its handler fails.
        if envelope.isOneWay { return }
        runtime.observation.deadLetters.record(
            DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: .poisoned)
        )
    }

    func ended(_ item: Mailbox.Item, _ handler: UInt64? = nil, _ scope: HandlerScope? = nil, isHandled: Bool = true) {
        let wasWaiting = scope?.end() == true
        let (run, handled, idle, former, isAnyStuck) = state.withLock { state in
            state.mailbox.ended(item, isHandled: isHandled, wasUnobserved: handler != nil && scope?.isObserved != true)
            // Released outside the lock.
            let former = handler.flatMap { state.handlers.running.removeValue(forKey: $0) }
            if wasWaiting { state.mailbox.handlerWaitsNoMore() }
            let isAnyStuck = state.hasExtras && !state.extras.stuck.isEmpty
            return (state.mailboxRunToBegin(), state.takeEndedDrainWaits(at: path), state.takeIdleWaiters(), former, isAnyStuck)
        }
        _ = former
        // The verdict may have come while the handler ended.
        if isAnyStuck, let envelope = item.envelope { noteUnstuck(envelope) }
        if let run { runMailbox(run) }
        for wait in handled { wait.end.settle(()) }
        for waiter in idle { waiter.resume() }
    }
}

// MARK: - What the mailbox has

extension CoordinatorCell {
    /// Whether a message isn't handled yet, or not handed on to a child.
    var hasMessages: Bool { state.withLock { $0.hasMessages } }
}

extension CoordinatorCell.State {
    /// Whether no handler runs, and none is about to begin.
    var isIdle: Bool { handlers.running.isEmpty && !mailbox.isRunning }

    /// Removes and returns the callers that wait until no handler runs, if none does.
    mutating func takeIdleWaiters() -> [CheckedContinuation<Void, Never>] {
        guard hasExtras, !extras.idleWaiters.isEmpty, isIdle else { return [] }
        defer { extras.idleWaiters = [] }
        return extras.idleWaiters
    }

    /// Whether a message isn't handled yet, or not handed on to a child.
    var hasMessages: Bool { mailbox.messageCount > 0 || hasExtras && !extras.waitingForChildren.isEmpty }

    /// Returns the run of the mailbox, if the caller must begin it.
    mutating func mailboxRunToBegin() -> MailboxRun? {
        // The instance is retained only by the caller that needs it.
        guard life.instance != nil, mailbox.beginRun(), let instance = life.instance else { return nil }
        return MailboxRun(coordinator: instance, number: handlers.addRun(mailbox.nextNumber()))
    }
}

// MARK: - Running handlers

extension CoordinatorCell {
    /// Runs a task as one of the coordinator's handlers.
    @discardableResult
    func handle(_ envelope: Envelope? = nil, by operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let id = noteHandler(envelope)
        let task = runtime.time.task {
            await operation()
            self.handlerEnded(id)
        }
        own(task, as: id)
        return task
    }

    /// Notes a handler that runs for the coordinator: it's cancelled at the stop, and awaited within the grace.
    func noteHandler(_ envelope: Envelope? = nil) -> UInt64 {
        state.withLock { $0.add(Handler(envelope: envelope)) }
    }

    /// Assigns the task behind a handler.
    func own(_ task: Task<Void, Never>, as id: UInt64) {
        let mustCancel = state.withLock { state -> Bool in
            // The handler may have ended before its task could be noted.
            guard state.handlers.running[id] != nil else { return false }
            state.handlers.running[id]?.task = task
            return state.life.cancelsHandlers
        }
        if mustCancel { task.cancel() }
    }

    func handlerEnded(_ id: UInt64) {
        state.withLock { $0.handlers.running[id] = nil }
        wakeIfIdle()
    }

    /// Resumes the callers that wait for the handlers' end when none runs, and none is about to begin.
    func wakeIfIdle() {
        let (handled, idle) = state.withLock { ($0.takeEndedDrainWaits(at: path), $0.takeIdleWaiters()) }
        for wait in handled { wait.end.settle(()) }
        for waiter in idle { waiter.resume() }
    }

    /// Runs a hook of the coordinator as one of its handlers, and waits for it, at most until the coordinator has stopped.
    func runHook(_ hook: @escaping @Sendable (any Coordinator) async -> Void) async {
        let done = OneShot<Void>()
        let begun = state.withLock { state -> (any Coordinator, UInt64)? in
            guard state.life.phase == .active, let instance = state.life.instance else { return nil }
            return (instance, state.add(Handler(hook: done)))
        }
        guard let (instance, id) = begun else { return }
        let task = Task.immediate(executorPreference: runtime.time.executor) {
            await hook(instance)
            done.settle(())
        }
        own(task, as: id)
        await done.value
        handlerEnded(id)
    }
}

// MARK: - Messages that need dependencies

extension CoordinatorCell {
    /// The dependencies of the coordinator.
    var dependencies: Dependencies { state.withLock { $0.dependencies.effective } }

    /// Provides this coordinator and those below it with values, which they all have when the call returns.
    func provide(_ more: Dependencies) {
        spread {
            $0.provide(more)
            return true
        }
    }

    /// Takes over the dependencies that the coordinators above provide, and passes them on to those below.
    func inherit(_ dependencies: Dependencies) { spread { $0.inherit(dependencies) } }

    /// Passes the dependencies on to a child that begins.
    func passInheritance(to host: any ChildHost) { host.inherit(dependencies) }

    /// Changes the provided dependencies and passes them on, first to the children, then to the messages that waited here.
    ///
    /// Several threads may do so at the same time, and no lock is held meanwhile. Each passes on the present dependencies, with their
    /// version: those that reach a child late are older than the child's own, and change nothing.
    ///
    /// - Parameter change: The change; false when there is nothing to pass on.
    private func spread(_ change: (inout CellDependencies) -> Bool) {
        let spread = state.withLock { state in
            change(&state.dependencies) ? (state.dependencies.effective, state.supervision) : nil
        }
        guard let (effective, children) = spread else { return }
        for host in children?.hosts ?? [] { host.inherit(effective) }
        if !releaseWhatIsProvided().isEmpty { learnWhatIsNeeded() }
    }

    /// Releases the messages whose dependencies are provided now.
    ///
    /// - Returns: The properties of dependencies whose keys have to be learned before other waiting messages can be released.
    private func releaseWhatIsProvided() -> [MessageRow.Needs] {
        let (run, lessons) = state.withLock { state -> (MailboxRun?, [MessageRow.Needs]) in
            guard state.mailbox.hasNeeding else { return (nil, []) }
            let effective = state.dependencies.effective
            let unread = state.mailbox.release { $0.needs.standing(in: effective) }
            return (state.mailboxRunToBegin(), unread)
        }
        if let run { runMailbox(run) }
        return lessons
    }

    /// Learns which keys the properties read whose first keys are provided, and releases the messages that wait for no others.
    ///
    /// The reading runs in a task of its own, because it may make a service.
    func learnWhatIsNeeded() {
        runtime.execution.tasks.add { [self] in
            while case let lessons = releaseWhatIsProvided(), !lessons.isEmpty {
                let dependencies = dependencies
                for needs in lessons { needs.learn(from: dependencies) }
            }
        }
    }
}

extension CoordinatorCell {
    /// Returns the message that is handled for an acknowledged message from another process; `nil` if the message was taken before, or may
    /// have been handled.
    ///
    /// Every arrival of the message gets the end of the one that is handled.
    func deduplicated(_ arrival: Envelope, _ delivery: AcknowledgedDelivery) -> Envelope? {
        let taking = state.withLock { state -> DeliveryDeduplication in
            if let taking = state.extras.taking { return taking }
            let taking = DeliveryDeduplication(since: born, limit: CreditWindow.link.messages)
            state.extras.taking = taking
            return taking
        }
        switch taking.admit(arrival, delivery.label) {
        case .new(let message): return message
        case .known: return nil
        case .uncertain:
            let text = "\(arrival.body.name) comes to \(path) a second time, and a former life of it may have handled the first"
            arrival.end(.failure(CoordinatorError(.peerLost, text, maybeExecuted: true)))
            return nil
        }
    }
}

extension CoordinatorCell {
    /// Notes that a handler waits for another coordinator, and begins the messages of the subtree that have waited for that.
    func handlerWaits() {
        let (run, holdsUpAsks) = state.withLock { state in
            state.mailbox.handlerWaits()
            return (state.mailboxRunToBegin(), state.mailbox.holdsUpAsks)
        }
        if let run { runMailbox(run) }
        // One that has come before the handler began to wait, such as for the replies of a stream.
        if holdsUpAsks { watchForCycles() }
    }

    func handlerWaitsNoMore() { state.withLock { $0.mailbox.handlerWaitsNoMore() } }

    func noteWaitForChild(of handler: UInt64, begins: Bool) {
        state.withLock { state in
            // A task that the handler has left running may end its wait after the handler.
            if begins {
                state.handlers.running[handler]?.waitsForChildren += 1
            } else {
                state.handlers.running[handler]?.waitsForChildren -= 1
            }
        }
    }
}
