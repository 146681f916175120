import Supervision

/// The transitions from a request to end, or from an exit, until nothing is left of the process.
extension WorkerMachine {
    /// Begins the stop ladder, or shortens what is left of it: the stop frame, SIGTERM, SIGKILL.
    mutating func stop(_ process: inout Process, _ shutdown: Shutdown) {
        if process.isSpare { return condemn(&process, .shutdown, .discarded) }
        let startDeadline = process.stopStart()
        // Nothing of the coordinator has begun: it's killed once the processes above know of it, or when that takes too long.
        if case .announcing = process.connection { return process.expectExit(Departure(deadline: now + limits.failedStart)) }
        guard isSooner(shutdown, than: process.order) else { return }
        let grace = shutdown.grace
        if let grace, grace <= .zero { return kill(&process) }
        if case .terminated = process.order { return terminate(&process, grace) }
        // A worker that never had a link can't be told by the stop frame.
        guard process.hasBeenWelcomed else { return terminate(&process, grace) }
        // Pings begin when the coordinator is ready: a start that hangs is ended by its own deadline where no grace does it.
        if grace == nil, let startDeadline {
            process.expectExit(Departure(deadline: startDeadline, failure: (.startTimedOut, .startTimedOut)))
        }
        let stop = Stop(grace: grace, drains: process.isBeingRecycled || shutdown.drains)
        process.order = .asked(stop, deadline: grace.map { now + $0 })
        // Without a link the worker hears it on the next one, or is killed as one that has none.
        if case .linked(let link) = process.connection { say(.tellStop(link, stop)) }
    }

    private func isSooner(_ shutdown: Shutdown, than order: Order) -> Bool {
        let end = shutdown.grace.map { now + $0 }
        switch order {
        case .none: return true
        case .asked(_, let deadline):
            guard let end else { return false }
            // A kill is never too late: after the deadline SIGTERM still has its time.
            return end <= now || deadline.map { end < $0 } ?? true
        case .terminated(let kill): return end.map { $0 < kill } ?? false
        case .killed: return false
        }
    }

    mutating func terminate(_ process: inout Process, _ grace: Duration?) {
        let grace = min(grace ?? limits.termination, limits.termination)
        process.order = .terminated(kill: now + grace)
        give(.terminate(grace: grace))
    }

    mutating func kill(_ process: inout Process) {
        if case .killed = process.order { return }
        process.order = .killed
        give(.kill)
    }

    /// Kills the process for a reason of the runtime's own.
    mutating func condemn(_ process: inout Process, _ reason: ExitReason, _ complaint: Complaint) {
        if case .killed = process.order { return }
        process.verdict = process.verdict ?? reason
        fail(&process, .condemned(reason, complaint))
        kill(&process)
    }

    /// Takes note of the reason for which the worker ends; messages to it wait for the next life from now on.
    mutating func takeLeave(_ process: inout Process, _ reason: ExitReason, _ link: LinkID) {
        if reason == .hung, process.lastWords == nil {
            if process.isReady { say(.becameUnreachable) }
            return condemn(&process, .hung, .stuckHandler)
        }
        if process.lastWords == nil {
            process.lastWords = reason
            process.expectExit(Departure(deadline: now + limits.departure))
            if process.isReady { say(.becameUnreachable) }
            // The end that was announced is the reason, not the link that goes with it.
            if case .unlinked = process.connection { process.connection = .unlinked(deadline: nil) }
        }
        // The worker may have dialled again since.
        if case .linked(let current) = process.connection { say(.bidFarewell(current, reason)) }
    }

    // MARK: The exit

    mutating func exit(_ process: Process, _ status: ExitReason) {
        let explanation = process.verdict ?? process.lastWords
        state = .cleaning(process.outcome(explanation ?? status), isExplained: explanation != nil)
        if process.isReady { say(.becameUnreachable) }
        give(.expectNoLink)
        give(.cleanUp(process.connection.link))
    }

    mutating func conclude(_ outcome: Outcome) {
        switch outcome {
        case .unused(let reason): end(.unused(reason))
        case .startFailed(let failure): failStart(failure)
        case .lifeEnded(let reason):
            give(.lifeEnded(reason))
            end(.exited(reason))
        }
    }

    mutating func end(_ failure: Failure) {
        state = .ended(failure)
        give(.gone)
    }
}

extension WorkerMachine.Process {
    /// Ends a start that is under way, because the process is to stop.
    ///
    /// - Returns: its deadline; `nil`: no start was under way.
    mutating func stopStart() -> Duration? {
        guard case .starting(let starting) = life else { return nil }
        life = .failed(.stopped)
        return starting.deadline
    }

    /// Returns the outcome to tell once the process and its descendants are gone, given the reason for its end.
    func outcome(_ reason: ExitReason) -> WorkerMachine.Outcome {
        switch life {
        case .spare: .unused(reason)
        case .starting: .startFailed(.exited(reason))
        case .ready: .lifeEnded(reason)
        case .failed(let failure): .startFailed(failure)
        }
    }

    var isBeingRecycled: Bool {
        if case .ready(let ready) = life, case .requested = ready.recycling { true } else { false }
    }
}

extension WorkerMachine.Outcome {
    /// The outcome, with the reason that the worker has given instead of its exit status.
    func explained(by reason: ExitReason) -> WorkerMachine.Outcome {
        switch self {
        case .unused: .unused(reason)
        case .startFailed(.exited): .startFailed(.exited(reason))
        case .startFailed(let failure): .startFailed(failure)
        case .lifeEnded: .lifeEnded(reason)
        }
    }
}

extension WorkerMachine.Failure {
    /// The failure of a start that was requested of a spare which had ended: one that was discarded, or told to stop, has stopped.
    static func unused(_ reason: ExitReason) -> WorkerMachine.Failure { reason == .shutdown ? .stopped : .exited(reason) }
}
