import Supervision

/// The transitions at deadlines.
extension WorkerMachine {
    mutating func meetDeadlines(_ process: inout Process) {
        if case .starting(let starting) = process.life, now >= starting.deadline {
            condemn(&process, .startTimedOut, .startTimedOut)
        }
        if let deadline = process.connection.deadline, now >= deadline {
            condemn(&process, process.isSpare ? .shutdown : .hung, .noLink)
        }
        if let departure = process.departure, now >= departure.deadline {
            process.departure = nil
            if let failure = departure.failure { condemn(&process, failure.reason, failure.complaint) }
            kill(&process)
        }
        if case .asked(let stop, let deadline?) = process.order, now >= deadline {
            process.verdict = process.verdict ?? .stopTimedOut
            terminate(&process, stop.grace)
        }
        beat(&process)
        if case .ready(var ready) = process.life, let age = ready.age, now >= age {
            ready.age = nil
            process.life = .ready(ready)
            recycle(&process, .age)
        }
    }

    /// Pings the worker, or gives it up.
    ///
    /// The answer comes from the worker's link, not from its coordinators: long work on the processor is legitimate. The executor on which
    /// they run is probed too; that it's silent is reported, unless the limits make it a fault.
    private mutating func beat(_ process: inout Process) {
        guard case .ready(var ready) = process.life, now >= ready.beat, process.expectsSigns else { return }
        ready.beat = now + limits.heartbeat
        process.life = .ready(ready)
        if now - ready.lastSign >= limits.heartbeatTimeout { return condemn(&process, .hung, .noSign) }
        if limits.measuresMemory { give(.measureMemory) }
        guard case .linked(let link) = process.connection else { return }
        if let silence = ready.executor.silence(now: now), silence >= limits.heartbeatTimeout {
            if limits.restartsSilentExecutor { return condemn(&process, .hung, .silentExecutor) }
            if ready.executor.tellSilence() { give(.noteExecutor(isSilent: true)) }
        }
        give(.ping(link))
        if ready.executor.probe(now: now) { give(.probeExecutor(link)) }
        process.life = .ready(ready)
    }

    mutating func hearExecutor(_ process: inout Process) {
        process.hear(now)
        guard case .ready(var ready) = process.life else { return }
        if ready.executor.hear() { give(.noteExecutor(isSilent: false)) }
        process.life = .ready(ready)
    }

    // MARK: The owner's own lateness

    /// Extends all deadlines when a wake is late: the owner was suspended or starved, may not have heard what has happened meanwhile, and has
    /// no right to a verdict about the worker, which may have been suspended too.
    ///
    /// The first event after the wake's time tells, whichever it is, so that a deadline that is set by it isn't extended.
    mutating func excuseLateness() {
        guard let wake = announcedWake, now - max(wake, excusedUntil) > limits.heartbeat else { return }
        let lost = now - max(wake, excusedUntil)
        excusedUntil = now
        // What the worker has done in time has the time of a heartbeat to be heard.
        let earliest = now + limits.heartbeat
        func extend(_ deadline: inout Duration) { deadline = max(deadline + lost, earliest) }
        switch state {
        case .idle, .waitingForTurn, .cleaning, .ended: break
        case .spawning(var spawning):
            if var starting = spawning.starting {
                extend(&starting.deadline)
                spawning.starting = starting
            }
            state = .spawning(spawning)
        case .running(var process):
            process.extendDeadlines(extend)
            if case .ready(var ready) = process.life {
                ready.lastSign = now
                ready.executor.excuse(now: now)
                process.life = .ready(ready)
            }
            state = .running(process)
        }
    }

    // MARK: Memory

    /// Kills or recycles a life that occupies more memory than it may.
    mutating func noteMemory(_ process: inout Process, _ bytes: Int) {
        guard process.isReady else { return }
        if let limit = limits.memoryLimit, bytes > limit {
            condemn(&process, .memoryExceeded(bytes: bytes, limit: limit), .memoryExceeded)
        } else if let limit = limits.memory, bytes > limit {
            recycle(&process, .memory(bytes: bytes))
        }
    }

    // MARK: Recycling

    mutating func countMessage(_ process: inout Process) {
        guard let limit = limits.messages, case .ready(var ready) = process.life else { return }
        ready.messages += 1
        process.life = .ready(ready)
        if ready.messages == limit { recycle(&process, .messages(limit)) }
    }

    mutating func recycle(_ process: inout Process, _ cause: RecyclingCause) {
        guard case .ready(var ready) = process.life, case .none = process.order, process.lastWords == nil else { return }
        switch (ready.recycling, isPaused) {
        case (.requested, _): return
        case (.due, true): return
        case (.none, true): ready.recycling = .due(cause)
        case (.none, false), (.due, false):
            ready.recycling = .requested
            say(.recycle(cause))
        }
        process.life = .ready(ready)
    }

    // MARK: The next deadline

    /// Tells the owner the next deadline, if that is sooner than the wake that it knows.
    mutating func announceNextWake() {
        guard let next = nextDeadline, announcedWake.map({ next < $0 }) ?? true else { return }
        announcedWake = next
        give(.wake(at: next))
    }

    /// A wait for a deadline has a wake for each heartbeat: one that is late tells that the owner stood still meanwhile.
    private var nextDeadline: Duration? {
        let deadline: Duration? =
            switch state {
            case .idle, .waitingForTurn, .cleaning, .ended: nil
            case .spawning(let spawning): spawning.condemnation == nil ? spawning.starting?.deadline : nil
            case .running(let process): process.nextDeadline
            }
        return deadline.map { min($0, now + limits.heartbeat) }
    }
}

extension WorkerMachine.Limits {
    /// Whether the memory of a process is of interest.
    package var measuresMemory: Bool { memory != nil || memoryLimit != nil }
}

extension WorkerMachine.Process {
    /// Whether a worker that gives no sign is given up.
    var expectsSigns: Bool {
        if case .killed = order { false } else { lastWords == nil }
    }

    /// Changes the deadlines of what the worker has to do.
    mutating func extendDeadlines(_ extend: (inout Duration) -> Void) {
        if case .starting(var starting) = life {
            extend(&starting.deadline)
            life = .starting(starting)
        }
        switch connection {
        case .awaited(var deadline?):
            extend(&deadline)
            connection = .awaited(deadline: deadline)
        case .unlinked(var deadline?):
            extend(&deadline)
            connection = .unlinked(deadline: deadline)
        case .announcing, .awaited(nil), .unlinked(nil), .linked: break
        }
        if var departure {
            extend(&departure.deadline)
            self.departure = departure
        }
        switch order {
        case .asked(let stop, var deadline?):
            extend(&deadline)
            order = .asked(stop, deadline: deadline)
        case .terminated(var kill):
            extend(&kill)
            order = .terminated(kill: kill)
        case .none, .asked(_, nil), .killed: break
        }
    }

    var nextDeadline: Duration? {
        // The kernel does the rest.
        if case .killed = order { return nil }
        var next = departure?.deadline
        func consider(_ deadline: Duration?) {
            if let deadline { next = min(next ?? deadline, deadline) }
        }
        switch life {
        case .spare, .failed: break
        case .starting(let starting): consider(starting.deadline)
        case .ready(let ready):
            consider(ready.age)
            if expectsSigns { consider(ready.beat) }
        }
        consider(connection.deadline)
        if case .asked(_, let deadline) = order { consider(deadline) }
        return next
    }
}
