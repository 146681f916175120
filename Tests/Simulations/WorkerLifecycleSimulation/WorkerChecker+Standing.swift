import Supervision
import WorkerLifecycle

/// The checks that follow every event.
extension WorkerChecker {
    func checkStanding(_ event: WorkerMachine.Event, _ now: Duration) throws(WorkerViolation) {
        try checkProgress(event)
        try checkLinks()
        if isRunning { try checkOrders(event, now) }
        if let life {
            let mustBe = isKilled && isRunning ? life.isReachable : canBeReached
            guard life.isReachable == mustBe else { throw WorkerViolation(.reachable, "the owner believes \(life.isReachable)") }
        }
    }

    private func checkProgress(_ event: WorkerMachine.Event) throws(WorkerViolation) {
        switch phase {
        case .idle:
            guard !isSpare, start == .none else { throw WorkerViolation(.directive, "a request leads to nothing") }
        case .waitingForTurn:
            if case .turnCame = event { throw WorkerViolation(.directive, "the turn leads to nothing") }
        case .spawning: break
        case .announcing, .known:
            guard isAnnounced else { throw WorkerViolation(.directive, "the process isn't announced") }
            guard start != .ready || told.success else { throw WorkerViolation(.startEndsOnce, "its success isn't told") }
        case .exited:
            guard isCleaning else { throw WorkerViolation(.noLeak, "nothing is left, and that isn't told") }
        case .over:
            guard told.gone else { throw WorkerViolation(.noLeak, "nothing is left, and that isn't told") }
            guard start == .none || told.success || told.failure else {
                throw WorkerViolation(.startEndsOnce, "the start's end isn't told")
            }
            guard !told.success || told.end else { throw WorkerViolation(.lifeEndsOnce, "the life's end isn't told") }
        }
    }

    private func checkLinks() throws(WorkerViolation) {
        if let replaced, links[replaced] != .over { throw WorkerViolation(.link, "link \(replaced) was replaced and isn't closed") }
        for (link, state) in links {
            switch state {
            case .over: break
            case .waiting:
                if isRunning, isKilled || phase == .announcing { break }
                throw WorkerViolation(.link, "link \(link) waits for ever")
            case .welcomed(let isStartTold, let isStopTold):
                guard link == current else { throw WorkerViolation(.link, "link \(link) is forgotten") }
                if case .open = start, !isStartTold { throw WorkerViolation(.told, "the start isn't told on link \(link)") }
                if order == .asked, !isStopTold { throw WorkerViolation(.told, "the stop isn't told on link \(link)") }
            }
        }
    }

    private func checkOrders(_ event: WorkerMachine.Event, _ now: Duration) throws(WorkerViolation) {
        if isKilled { return }
        var isTimed = false
        if case .timePassed = event { isTimed = true }
        for (reason, due) in dues where due.time <= now && (isTimed || reason == .atOnce || reason == .hung) {
            throw WorkerViolation(.killed, "\(reason), and it isn't killed")
        }
        if mustTerminate != nil { throw WorkerViolation(.stopEnds, "SIGTERM is due") }
        if mustProbe { throw WorkerViolation(.heartbeat, "a probe of the executor is due") }
        if let mustNoteSilence { throw WorkerViolation(.heartbeat, "the owner isn't told that the executor is silent: \(mustNoteSilence)") }
        if mustPing { throw WorkerViolation(.heartbeat, "a ping is due") }
        if isRecyclingDue, !hasRecycled, !isPaused, order == .none, lastWords == nil, life != nil {
            throw WorkerViolation(.recycling, "it's due")
        }
    }

    /// Checks that the machine is woken no later than its next deadline.
    func checkTime(_ event: WorkerMachine.Event, _ now: Duration) throws(WorkerViolation) {
        guard let due = nextDue else { return }
        guard let wake, wake <= due else {
            throw WorkerViolation(.wake, "something is due at \(due), and the wake is at \(wake.map { "\($0)" } ?? "no time")")
        }
    }
}
