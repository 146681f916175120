import ConcurrencySupport

extension Node {
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
        state.withLock { $0.handlers.add(Handler(envelope: envelope)) }
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
            return (instance, state.handlers.add(Handler(hook: done)))
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
