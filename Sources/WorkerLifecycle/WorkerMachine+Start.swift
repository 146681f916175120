import Supervision

/// The transitions from the spawn until the coordinator is ready.
extension WorkerMachine {
    mutating func spawn(_ spawning: Spawning) {
        state = .spawning(spawning)
        give(.spawn)
    }

    /// Takes note that the kernel has the process.
    ///
    /// One that is of no use any more is killed once the processes above know of it, so that they don't hear of its end first, or when
    /// that takes too long.
    mutating func startSpawn(_ spawning: Spawning) {
        var process = Process(connection: .announcing(nil), life: spawning.starting.map { .starting($0) } ?? .spare)
        if let condemnation = spawning.condemnation {
            if spawning.starting != nil { process.life = .failed(condemnation) }
            process.verdict = condemnation.reason
            process.expectExit(Departure(deadline: now + limits.failedStart))
        }
        state = .running(process)
        give(.announce)
    }

    /// Takes note of a process that lives already: its worker was welcomed by a former parent, and dials this one.
    ///
    /// One that is of no use any more is killed at once, since the processes above know of it.
    mutating func adopt(_ spawning: Spawning) {
        guard let starting = spawning.starting else { return }
        var process = Process(connection: .unlinked(deadline: now + limits.link), life: .starting(starting))
        if let condemnation = spawning.condemnation {
            process.life = .failed(condemnation)
            process.verdict = condemnation.reason
            give(.expectNoLink)
            kill(&process)
        }
        state = .running(process)
    }

    mutating func announced(_ process: inout Process) {
        guard case .announcing(let link) = process.connection else { return }
        process.connection = .awaited(deadline: process.isSpare ? now + limits.firstLink : nil)
        guard process.isDoomed else {
            if let link { welcome(&process, link) }
            return
        }
        if let link { say(.close(link)) }
        kill(&process)
    }

    /// Gives a spare its life.
    mutating func assign(_ process: inout Process, _ timeout: Duration) {
        guard case .spare = process.life else { return }
        guard !process.isDoomed else {
            process.life = .failed(.unused(process.verdict ?? .shutdown))
            return
        }
        process.life = .starting(Starting(deadline: now + timeout))
        switch process.connection {
        case .linked(let link): tellStart(link)
        case .awaited: process.connection = .awaited(deadline: nil)
        case .announcing, .unlinked: break
        }
    }

    // MARK: Links

    mutating func attach(_ process: inout Process, _ link: LinkID, _ refusal: String?) {
        if let former = process.connection.link { say(.close(former)) }
        if let refusal {
            give(.refuse(link, refusal))
            if process.connection.link != nil { lose(&process, process.connection.link) }
            return condemn(&process, .startFailed(refusal), .notWelcome(refusal))
        }
        switch process.connection {
        case .announcing: process.connection = .announcing(link)
        case .awaited, .unlinked, .linked: welcome(&process, link)
        }
    }

    private mutating func welcome(_ process: inout Process, _ link: LinkID) {
        process.connection = .linked(link)
        process.hear(now)
        process.forgetProbe()
        say(.welcome(link))
        switch process.life {
        case .spare: break
        case .starting: tellStart(link)
        case .ready, .failed:
            // What lasts is said on every link, in case the former has broken before it was heard.
            say(.introduce(link))
            if case .asked(let stop, _) = process.order { say(.tellStop(link, stop)) }
            if process.isReachable { say(.becameReachable) }
        }
    }

    /// Tells the worker to start, again on each link: the worker may not have read it on a former one, and ignores it the second time.
    private mutating func tellStart(_ link: LinkID) {
        say(.introduce(link))
        say(.tellStart(link))
    }

    mutating func lose(_ process: inout Process, _ link: LinkID?) {
        guard let link, process.connection.link == link else { return }
        switch process.connection {
        case .announcing: process.connection = .announcing(nil)
        case .awaited, .linked, .unlinked:
            process.connection = .unlinked(deadline: process.lastWords == nil ? now + limits.link : nil)
            if process.isReady { say(.becameUnreachable) }
        }
    }

    // MARK: The start's outcome

    mutating func becomeReady(_ process: inout Process) {
        guard case .starting = process.life else { return }
        process.life = .ready(Ready(lastSign: now, beat: now + limits.heartbeat, age: limits.age.map { now + $0 }))
        give(.startSucceeded)
        // Nothing else tells that the link was lost before, or that the worker has announced its end.
        if !process.isReachable { say(.becameUnreachable) }
    }

    /// Takes note of a failed start, which is told when nothing is left of the process.
    mutating func fail(_ process: inout Process, _ failure: Failure) {
        if case .starting = process.life { process.life = .failed(failure) }
        give(.expectNoLink)
    }

    /// Ends a start that has failed before there was a process.
    mutating func failStart(_ failure: Failure) {
        give(.startFailed(failure))
        end(failure)
    }
}

extension WorkerMachine.Process {
    var isSpare: Bool {
        if case .spare = life { true } else { false }
    }

    var isReady: Bool {
        if case .ready = life { true } else { false }
    }

    /// Whether what is sent to the coordinator now reaches it.
    var isReachable: Bool {
        guard case .ready = life, case .linked = connection, lastWords == nil else { return false }
        if case .killed = order { return false }
        return true
    }

    /// Whether the worker has been welcomed on a link, be it lost or not.
    var hasBeenWelcomed: Bool {
        switch connection {
        case .announcing, .awaited: false
        case .unlinked, .linked: true
        }
    }

    /// Expects the process to exit, and has it killed if it hasn't by the deadline, unless an earlier deadline is set already.
    mutating func expectExit(_ expected: WorkerMachine.Departure) {
        if departure.map({ expected.deadline < $0.deadline }) ?? true { departure = expected }
    }

    /// Whether the process is killed as soon as the processes above know of it.
    var isDoomed: Bool {
        if case .failed = life { true } else { verdict != nil }
    }

    /// Forgets the probe of the executor that was sent on a former link.
    mutating func forgetProbe() {
        guard case .ready(var ready) = life else { return }
        ready.executor.forget()
        life = .ready(ready)
    }

    /// Takes note of a sign of life; before the coordinator is ready none is expected.
    mutating func hear(_ now: Duration) {
        guard case .ready(var ready) = life else { return }
        ready.lastSign = now
        life = .ready(ready)
    }
}

extension WorkerMachine.Connection {
    /// The time at which a link has been missing for too long.
    var deadline: Duration? {
        switch self {
        case .announcing, .linked: nil
        case .awaited(let deadline), .unlinked(let deadline): deadline
        }
    }

    /// The link that is there, whether it has been welcomed or not.
    var link: WorkerMachine.LinkID? {
        switch self {
        case .announcing(let link): link
        case .awaited, .unlinked: nil
        case .linked(let link): link
        }
    }
}

extension WorkerMachine.Failure {
    /// The reason that the process is killed for.
    var reason: ExitReason {
        switch self {
        case .stopped: .shutdown
        case .thrown(let error): .startFailed("\(error)")
        case .condemned(let reason, _), .exited(let reason): reason
        }
    }
}
