import ConcurrencySupport
import Logging

extension Node {
    /// Creates the coordinator and runs its `start` hook.
    func start(_ configuration: ConfigurationValue) async throws {
        do {
            try type.policy.validate()
        } catch {
            throw CoordinatorError(.startFailed, "\(path): the supervision policy of \(type.name): \(error)")
        }
        if !type.table.ambiguousNames.isEmpty {
            let names = type.table.ambiguousNames.joined(separator: ", ")
            logger.warning("several messages have one name: give one of them another `name`", metadata: ["names": "\(names)"])
        }
        let instance = try type.make(self, configuration)
        let isAwaited = state.withLock { state -> Bool? in
            // Who has been stopped meanwhile must not be kept by what it has made.
            guard state.phase == .starting else { return nil }
            state.instance = instance
            return state.instanceToDrain() != nil
        }
        guard let isAwaited else {
            await type.release?(instance)
            throw CoordinatorError.hasStopped(path)
        }
        // Messages that came before there was anybody to drain them.
        if isAwaited { beginDraining(instance) }
        try await instance.start()
        let isActive = state.withLock { state -> Bool in
            guard state.phase == .starting else { return false }
            state.phase = .active
            return true
        }
        guard isActive else { throw CoordinatorError.hasStopped(path) }
        await beginPaused()
        beginRunHook(instance)
        type.attend?(instance, self)
    }

    private func beginRunHook(_ instance: any Coordinator) {
        let task = Task.immediate {
            do {
                try await instance.run()
                self.end(.returned)
            } catch RunHook.absent {
            } catch {
                // A hook that ends because it was cancelled has been stopped, whatever it throws.
                if !Task.isCancelled { self.end(.failed(.failed(String(describing: error)))) }
            }
            self.state.withLock { state in
                state.runTask = nil
                state.hasRun = true
            }
        }
        state.withLock { state in
            if state.hasRun { return }
            if state.phase == .active { state.runTask = task } else { task.cancel() }
        }
    }

    /// Ends the subtree: children in reverse start order, then the handlers, then the `stop` hook if `start` has succeeded.
    ///
    /// - Parameters:
    ///   - grace: how long the handlers that were cancelled and the hook after them may take together; `nil`: as long as they like.
    ///   - isFailure: it has failed rather than been told to stop, and whoever asks it has lost it.
    /// - Returns: false when something ignored its cancellation past the grace and had to be abandoned.
    func stop(grace: Duration?, isFailure: Bool = false) async -> Bool {
        await stop(within: Grace(grace), isFailure: isFailure)
    }

    /// As ``stop(grace:isFailure:)``, with a grace that may have been shortened already.
    func stop(within limit: Grace, isFailure: Bool = false) async -> Bool {
        let (isFirst, instance, hasStarted, children) = state.withLock { state -> (Bool, (any Coordinator)?, Bool, ChildSupervisor?) in
            guard state.phase == .starting || state.phase == .active else { return (false, nil, false, nil) }
            state.grace = limit
            defer { state.phase = .stopping }
            state.hasFailed = isFailure
            return (true, state.instance, state.phase == .active, state.children)
        }
        // Somebody else is at it.
        guard isFirst else {
            if let grace = limit.limit { hasten(.timeout(grace)) }
            return await end.value
        }
        openAsks.end(with: .hasStopped(path), forGood: false)
        endPause(isFailure)
        // Whoever has hastened it before it began, too.
        if let haste = limit.haste { hasten(.timeout(haste)) }
        if let children { await children.shutDown() }
        cancelHandlers()
        let areIdle = await limit.within { await self.waitUntilIdle() }
        var hasStopped = true
        if let instance {
            hasStopped = await limit.within { [type] in
                if hasStarted { await instance.stop() }
                await type.release?(instance)
            }
        }
        close()
        end.settle(areIdle && hasStopped)
        return areIdle && hasStopped
    }

    /// What a paused coordinator has not begun it never will; those below it may ask it while they end.
    private func endPause(_ isFailure: Bool) {
        let waiting = state.withLock { state -> [Mailbox.Item] in
            guard state.mailbox.isPaused else { return [] }
            state.mailbox.resume()
            return state.mailbox.removeMessages()
        }
        for item in waiting { giveUp(item, hasFailed: isFailure) }
    }

    /// Waits until what the subtree has taken is handled, in the processes below too; what doesn't end within the time is left to the stop.
    ///
    /// Nothing new comes meanwhile: the parent sends nothing more.
    func drain(within grace: Duration?) async {
        _ = await Deadline.within(grace) {
            while self.isBusy { try? await Task.sleep(for: .milliseconds(2)) }
        }
    }

    /// Whether the coordinator, or one below it, has a message that isn't handled yet.
    var isBusy: Bool { state.withLock { $0.mailbox.messageCount > 0 } || existingChildren?.isBusy == true }

    private func cancelHandlers() {
        let (handlers, run) = state.withLock { state in
            state.areHandlersCancelled = true
            state.mailbox.close()
            return (state.handlers.values.compactMap(\.task), state.runTask)
        }
        run?.cancel()
        for handler in handlers { handler.cancel() }
    }

    private func waitUntilIdle() async {
        let run = state.withLock { $0.runTask }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state -> Bool in
                if state.isIdle { return true }
                state.idleWaiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
        await run?.value
    }

    private func close() {
        let (waiting, abandoned, hooks, children, hasFailed) = state.withLock { state in
            state.phase = .stopped
            state.instance = nil
            state.runTask = nil
            state.owner = nil
            defer { state.children = nil }
            let hooks = Array(state.hooks.values)
            return (state.mailbox.removeAll(), state.handlers.values.compactMap(\.envelope), hooks, state.children, state.hasFailed)
        }
        openAsks.end(with: .hasStopped(path), forGood: true)
        children?.refuse()
        for hook in hooks { hook.settle(()) }
        for item in waiting { giveUp(item, hasFailed: hasFailed) }
        for envelope in abandoned { envelope.end(.failure(endError(hasFailed, maybeExecuted: true))) }
    }

    /// What waited and never begins: whoever asks is told, and nothing that was taken is lost without a word.
    private func giveUp(_ item: Mailbox.Item, hasFailed: Bool) {
        switch item {
        case .message(let envelope, _):
            if envelope.isOneWay, envelope.hasEnded, !envelope.isWithdrawn {
                let letter = DeadLetter(name: envelope.body.name, sender: envelope.sender, target: path, reason: .stopped)
                runtime.deadLetters.record(letter)
            }
            envelope.end(.failure(endError(hasFailed, maybeExecuted: false)))
        case .dismissal(_, let decision): decision.settle(.refuse)
        case .event(let child, _):
            runtime.deadLetters.record(DeadLetter(name: child.typeName, sender: child.path, target: path, reason: .stopped))
        case .lifecycle, .popped, .unhandled: break
        }
    }

    /// Why an ask to this coordinator ends with its life.
    func endError(_ hasFailed: Bool, maybeExecuted: Bool) -> CoordinatorError {
        guard hasFailed else { return .hasStopped(path) }
        return CoordinatorError(.peerLost, "\(path) has failed", maybeExecuted: maybeExecuted)
    }
}
