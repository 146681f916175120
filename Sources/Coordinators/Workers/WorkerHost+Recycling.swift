import Logging
import Processes
import Synchronization

extension WorkerHost {
    /// The life has begun: its end is planned from now on.
    func beginAging() {
        guard let age = plan.recycling.nextAge else { return }
        let timer = Timers.shared.schedule(at: .now + age) { [weak self] in self?.recycle("its age") }
        state.withLock { $0.ageTimer = timer }
    }

    /// A message goes to the worker.
    func countMessage() {
        guard let limit = plan.recycling.messages else { return }
        let isDue = state.withLock { state -> Bool in
            state.messages += 1
            return state.messages == limit
        }
        if isDue { recycle("\(limit) messages") }
    }

    /// Looks at the memory that the process occupies, at every heartbeat.
    func checkMemory() {
        guard let limit = plan.recycling.memory, let process = state.withLock({ $0.child?.identity }) else { return }
        if let resident = process.residentBytes, resident > limit { recycle("\(resident) bytes of memory") }
    }

    /// The worker isn't paused any more.
    func recycleIfDue() {
        let cause = state.withLock { state in
            defer { state.dueCause = nil }
            return state.dueCause
        }
        if let cause { recycle(cause) }
    }

    private func recycle(_ cause: String) {
        let isFirst = state.withLock { state -> Bool in
            // What waits in a paused worker would be lost with it.
            guard state.inheritance.pauseReasons.isEmpty else {
                state.dueCause = state.dueCause ?? cause
                return false
            }
            guard !state.isRecycling, !state.isStopRequested, !state.hasEnded else { return false }
            state.isRecycling = true
            return true
        }
        guard isFirst else { return }
        runtime.logger.info("a worker is replaced", metadata: ["coordinator.path": "\(path)", "cause": "\(cause)"])
        events.recycled()
    }
}
