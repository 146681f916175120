import Synchronization

/// Tasks with an owner, who can cancel them all.
package final class OwnedTasks: Sendable {
    private struct State {
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var ended: Set<UInt64> = []
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Begins a task that the owner can cancel.
    package func add(_ operation: @escaping @Sendable () async -> Void) {
        let id = state.withLock { state -> UInt64 in
            state.next += 1
            return state.next
        }
        let task = Task {
            await operation()
            self.end(id)
        }
        state.withLock { state in
            // It may have ended before it could be noted down.
            if state.ended.remove(id) == nil { state.tasks[id] = task }
        }
    }

    /// Cancels the tasks that run now.
    package func cancelAll() {
        for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
    }

    /// Returns when none runs any more, those that begin meanwhile included.
    package func waitForAll() async {
        while case let running = state.withLock({ Array($0.tasks.values) }), !running.isEmpty {
            for task in running { await task.value }
        }
    }

    private func end(_ id: UInt64) {
        state.withLock { state in
            if state.tasks.removeValue(forKey: id) == nil { state.ended.insert(id) }
        }
    }
}
