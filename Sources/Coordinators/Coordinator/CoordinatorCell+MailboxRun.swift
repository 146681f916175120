import ConcurrencySupport
import Logging
import Synchronization

/// The work of beginning a mailbox's waiting items, which one task at a time has.
struct MailboxRun {
    let coordinator: any Coordinator
    /// The number of the handler that the task becomes.
    let number: UInt64
}

extension CoordinatorCell {
    /// Begins the waiting items, in a task that isn't the caller's.
    ///
    /// - Parameter row: The row of the message that has come, which runs on the present thread if that has read it and the row doesn't await.
    func runMailbox(_ run: MailboxRun, for row: MessageRow? = nil) {
        let (instance, number) = (run.coordinator, run.number)
        #if !SLOW_PATH_ONLY
        if row?.immediate != nil, ReadingThread.isFree, runtime.time.executor == nil {
            let task = ReadingThread.accepting {
                Task.detached(executorPreference: ReadingThread.executor) {
                    await self.handleItems(number, on: instance, inReadingThread: true)
                }
            }
            return own(task, asRun: number)
        }
        #endif
        // The task is detached, because handlers of many senders begin there, and none may inherit another's task-local values.
        // One whose preference is `nil` takes half as long again.
        let task =
            if let executor = runtime.handlerExecutor {
                Task.detached(executorPreference: executor) { await self.handleItems(number, on: instance) }
            } else {
                Task.detached { await self.handleItems(number, on: instance) }
            }
        own(task, asRun: number)
    }

    /// Begins the waiting items one after the other, each up to its first suspension.
    ///
    /// A Swift actor alone doesn't promise to run jobs in the order of their arrival; here the order is the queue's. The first item whose
    /// handler awaits is handled in this task, and another one begins the rest when the handler is suspended.
    ///
    /// - Parameters:
    ///   - number: The number of the run.
    ///   - begun: The items that a former run has taken from the queue.
    ///   - inReadingThread: Whether the task was begun for a thread that reads: it begins no handler that awaits.
    private func handleItems(
        _ number: UInt64,
        on instance: isolated any Coordinator,
        _ begun: ArraySlice<Mailbox.Item> = [],
        inReadingThread: Bool = false
    ) async {
        var batch = begun
        var accepted: AcceptedMessages.Batch = []
        var tally = Mailbox.Tally()
        while true {
            while let item = batch.popFirst() {
                #if !SLOW_PATH_ONLY
                if inReadingThread, !item.endsAtOnce { return leaveReadingThread(with: [item] + batch, on: instance) }
                #endif
                if handlesAtOnce(item, on: instance) { continue }
                let envelope = item.envelope
                let scope = becomeHandler(of: item, envelope, in: number, before: batch, on: instance)
                // The items after this one aren't kept for as long as its handler runs.
                (batch, accepted) = ([], [])
                await perform(item, in: scope, TraceContext(envelope?.trace ?? []), on: instance)
                return ended(item, number, scope)
            }
            let (taken, waits, idle) = state.withLock { state in
                state.mailbox.forget(tally)
                state.mailbox.takeAccepted(into: &accepted)
                let batch = accepted.isEmpty ? state.mailbox.takeBatch() : []
                state.handlers.batch = batch
                if batch.isEmpty, accepted.isEmpty { state.handlers.endRun() }
                return (batch, state.takeEndedDrainWaits(at: path), state.takeIdleWaiters())
            }
            for wait in waits { wait.end.settle(()) }
            for waiter in idle { waiter.resume() }
            if taken.isEmpty, accepted.isEmpty { return }
            #if !SLOW_PATH_ONLY
            let isStream = tally.count > 0
            #endif
            tally = handle(&accepted, on: instance)
            batch = taken[...]
            #if !SLOW_PATH_ONLY
            if isStream { waitForMore(than: tally) }
            #endif
        }
    }

    /// Handles messages without envelopes; what observes messages has to see them in theirs.
    ///
    /// - Returns: Those that have ended, and are still counted.
    private func handle(_ messages: inout AcceptedMessages.Batch, on instance: isolated any Coordinator) -> Mailbox.Tally {
        var tally = Mailbox.Tally()
        guard !messages.isEmpty else { return tally }
        defer { messages.removeAll(keepingCapacity: true) }
        let isObserved = runtime.observation.instruments.areActive
        for index in messages.indices {
            let (row, body) = (messages[index].row, messages[index].takeBody())
            if isObserved {
                _ = handlesAtOnce(.message(messages[index].envelope(with: body), row), on: instance)
                continue
            }
            do { try row.accepted?(instance, body) } catch {
                conclude(messages[index].envelope(with: body), row, .failure(error))
            }
            tally.add(messages[index].size)
            // Senders mustn't wait for room that there is.
            if tally.bytes > Self.bytesEndedTogether {
                state.withLock { $0.mailbox.forget(tally) }
                tally = Mailbox.Tally()
            }
        }
        return tally
    }

    /// The size of messages that have ended without leaving room for others yet, in bytes, at most.
    private static let bytesEndedTogether = 64 << 10

    /// Handles an item for which no handler has to run, or only one that doesn't await.
    ///
    /// - Returns: False if the item needs a handler that awaits.
    private func handlesAtOnce(_ item: Mailbox.Item, on instance: isolated any Coordinator) -> Bool {
        guard case .message(let envelope, let row) = item else { return false }
        // A message that was cancelled or timed out while it waited never runs.
        guard row.isRelay ? !envelope.isWithdrawn : envelope.beginHandling(isInterceptor: row.isInterceptor) else {
            ended(item, isHandled: false)
            return true
        }
        envelope.release()
        guard row.immediate != nil else { return false }
        handle(item, envelope, row, on: instance)
        return true
    }

    /// Makes the task of a run that of a handler; the items after the handler's begin in another task as soon as it waits.
    ///
    /// - Parameter envelope: The item's.
    /// - Returns: The scope of the handler, if it needs one.
    private func becomeHandler(
        of item: Mailbox.Item,
        _ envelope: Envelope?,
        in number: UInt64,
        before rest: ArraySlice<Mailbox.Item>,
        on instance: isolated any Coordinator
    ) -> HandlerScope? {
        let (task, isCancelled, isObserved, next) = state.withLock { state in
            let task = state.handlers.add(envelope, inRun: number)
            let isObserved = state.mailbox.observesHandler(of: item)
            let goesOn = !rest.isEmpty || state.mailbox.continuesRun()
            if rest.isEmpty { state.handlers.batch = [] }
            return (task, state.life.cancelsHandlers, isObserved, goesOn ? state.handlers.addRun(state.mailbox.nextNumber()) : nil)
        }
        if let next { continueRun(next, rest, on: instance) }
        if isCancelled { task?.cancel() }
        if let envelope, !envelope.attachWork(.handler(number)) { cancel(number, of: envelope) }
        return HandlerScope.of(self, handling: envelope, as: number, isObserved: isObserved)
    }

    /// Begins the items that are left, in a task that runs on the coordinator's executor after the present one.
    private func continueRun(_ number: UInt64, _ rest: ArraySlice<Mailbox.Item>, on instance: isolated any Coordinator) {
        let task =
            if let executor = runtime.handlerExecutor {
                Task(executorPreference: executor) { await self.handleItems(number, on: instance, rest) }
            } else {
                Task { await self.handleItems(number, on: instance, rest) }
            }
        own(task, asRun: number)
    }

    #if !SLOW_PATH_ONLY
    /// Begins the items that are left in Swift's pool: handlers that await would stay in the thread until they're suspended.
    private func leaveReadingThread(with rest: ArraySlice<Mailbox.Item>, on instance: any Coordinator) {
        let number = state.withLock { $0.handlers.addRun($0.mailbox.nextNumber()) }
        ReadingThread.afterHandling { self.own(Task.detached { await self.handleItems(number, on: instance, rest) }, asRun: number) }
    }
    #endif

    /// Runs a handler as the one of its message, and in the trace of it, so that its own messages belong to both.
    ///
    /// Until the handler begins, nothing leaves the coordinator's executor, on which the caller is: a later message could begin first.
    private func perform(
        _ item: Mailbox.Item,
        in scope: HandlerScope?,
        _ trace: TraceContext?,
        on instance: any Coordinator
    ) async {
        switch (scope, trace) {
        case (nil, nil): await perform(item, on: instance)
        case (let scope?, nil): await HandlerScope.$current.binding(scope) { await self.perform(item, on: instance) }
        case (_, let trace?): await TraceContext.$current.binding(trace) { await self.perform(item, in: scope, nil, on: instance) }
        }
    }

    /// Assigns the task of a run, whose handler may have begun already.
    private func own(_ task: Task<Void, Never>, asRun number: UInt64) {
        let isCancelled = state.withLock { state -> Bool in
            if state.handlers.run == number { state.handlers.runTask = task }
            return state.handlers.own(task, number) || state.handlers.running[number] != nil && state.life.cancelsHandlers
        }
        if isCancelled { task.cancel() }
    }
}

extension CoordinatorCell {
    /// Carries out an inline row for a message, in the thread of the caller.
    ///
    /// - Returns: False when the message has to wait in the mailbox, because the coordinator isn't ready, is paused or stops, or an earlier
    ///   message for such a row waits there.
    func answer(_ envelope: Envelope, _ row: MessageRow, _ inline: InlineRow) -> Bool {
        guard let instance = instanceForInlineRow(isForwarding: inline.isForwarding) else { return false }
        switch inline.work {
        case .answer(let body): answer(envelope, row, inline, by: body, on: instance)
        case .forward(let target): forward(envelope, to: target)
        }
        return true
    }

    private func answer(
        _ envelope: Envelope,
        _ row: MessageRow,
        _ inline: InlineRow,
        by body: InlineRow.Body,
        on instance: any Coordinator
    ) {
        envelope.release()
        guard envelope.beginHandling() else { return }
        #if !SLOW_PATH_ONLY
        ReadingThread.leaveTask()
        #endif
        if envelope.isOneWay { envelope.complete(.success(.none)) }
        let began = MonotonicTime.now
        conclude(envelope, row, handleAtOnce(envelope) { try body(instance, envelope) })
        switch envelope.asker {
        case .peer, .taken: noteIfSlow(inline, envelope, since: began)
        case .task, .relay, .function: break
        }
    }

    /// Returns the coordinator, if a message of an inline row needn't wait in its mailbox; the caller then handles the message, or forwards it.
    func instanceForInlineRow(isForwarding: Bool = false) -> (any Coordinator)? {
        state.withLock { state in
            switch state.life.phase {
            case .starting, .active: break
            case .draining, .stopping, .stopped: return nil
            }
            guard state.mailbox.admitsInline, let instance = state.life.instance else { return nil }
            if !isForwarding { state.mailbox.noteHandled() }
            return instance
        }
    }

    /// Logs once that a body holds up the link by which its messages come.
    private func noteIfSlow(_ inline: InlineRow, _ envelope: Envelope, since began: MonotonicTime) {
        let duration = MonotonicTime.now - began
        guard duration > InlineRow.patience, !inline.isKnownAsSlow.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "an inline row is slow, and delays all other messages of the link: make it an ordinary row",
            metadata: ["message.name": "\(envelope.body.name)", "milliseconds": "\(duration.millisecondsClamped)"]
        )
    }
}
