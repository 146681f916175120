/// Tasks that have an owner: it can wait for them, and it ends them.
package final class OwnedTasks: Sendable {
    private struct State {
        /// The tasks that run; `nil` until a task that has just begun is noted.
        var tasks = Slab<Task<Void, Never>?>()
        var isEnded = false
        /// The callers that wait until no task runs.
        var waiters: [OneShot<Void>] = []
    }

    private let state = Lock(State())

    private let time: TimeSource

    package init(_ time: TimeSource = .monotonic) { self.time = time }

    /// Begins a task; one that is begun after the end is cancelled from the start.
    package func add(_ operation: @escaping @Sendable () async -> Void) {
        let id = state.withLock { $0.tasks.insert(nil) }
        // Outside the lock, which the task takes at its end: that may come before this returns.
        let task = time.task {
            await operation()
            self.remove(id)
        }
        let mustCancel = state.withLock { state in
            state.tasks[id] = .some(task)
            return state.isEnded
        }
        if mustCancel { task.cancel() }
    }

    /// Returns when no task runs, those included that begin meanwhile.
    package func waitForAll() async {
        let waiter = OneShot<Void>()
        let isIdle = state.withLock { state in
            if state.tasks.count > 0 { state.waiters.append(waiter) }
            return state.tasks.count == 0
        }
        if !isIdle { await waiter.value }
    }

    /// Cancels the tasks, those included that begin later, and returns when none runs.
    package func end() async {
        let tasks = state.withLock { state in
            state.isEnded = true
            return Array(state.tasks.elements)
        }
        for task in tasks { task?.cancel() }
        await waitForAll()
    }

    private func remove(_ id: UInt64) {
        let waiters = state.withLock { state -> [OneShot<Void>] in
            _ = state.tasks.remove(id)
            guard state.tasks.count == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.settle(()) }
    }
}

extension TaskLocal {
    /// Binds a value while an operation runs, which stays on the caller's executor.
    ///
    /// A closure that is given to `withValue` by a function that isn't isolated leaves its caller's executor; when it comes back, other work of
    /// the actor may have begun.
    package func binding<Result>(
        _ value: Value,
        isolation: isolated (any Actor)? = #isolation,
        _ operation: () async throws -> Result
    ) async rethrows -> Result {
        try await withValue(value) {
            _ = isolation
            return try await operation()
        }
    }
}
