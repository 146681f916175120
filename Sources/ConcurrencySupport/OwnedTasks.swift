/// Tasks that have an owner: it can wait for them, and it ends them.
package final class OwnedTasks: Sendable {
    private struct State {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var next: UInt64 = 0
        var isEnded = false
    }

    private let state = Lock(State())

    package init() {}

    /// Begins a task; one that is begun after the end is cancelled from the start.
    package func add(_ operation: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            let id = state.next
            state.next += 1
            // Under the lock, so that the task can't remove itself before it's noted.
            let task = Task {
                await operation()
                self.remove(id)
            }
            state.tasks[id] = task
            if state.isEnded { task.cancel() }
        }
    }

    /// Returns when no task runs, those included that begin meanwhile.
    package func waitForAll() async {
        while let task = state.withLock({ $0.tasks.values.first }) { await task.value }
    }

    /// Cancels the tasks, those included that begin later, and returns when none runs.
    package func end() async {
        let tasks = state.withLock { state in
            state.isEnded = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        await waitForAll()
    }

    private func remove(_ id: UInt64) { state.withLock { $0.tasks[id] = nil } }
}
