import Supervision
import WorkerLifecycle

/// The checks of the machine's directives.
extension WorkerChecker {
    mutating func note(_ directive: WorkerMachine.Directive, _ event: WorkerMachine.Event, _ now: Duration) throws(WorkerViolation) {
        if told.gone { try checkAfterwards(directive, event) }
        switch directive {
        case .process(let directive): try note(directive, event, now)
        case .link(let directive): try note(directive, now)
        }
    }

    private mutating func note(
        _ directive: WorkerMachine.ProcessDirective,
        _ event: WorkerMachine.Event,
        _ now: Duration
    ) throws(WorkerViolation) {
        switch directive {
        case .takeTurn:
            guard phase == .idle, case .startRequested(true, _) = event else { throw misplaced("a turn is taken") }
            phase = .waitingForTurn
        case .spawn: try noteSpawn(event)
        case .announce:
            guard phase == .announcing, !isAnnounced else { throw misplaced("the process is announced") }
            isAnnounced = true
        case .expectNoLink: break
        case .refuse(let link, _):
            guard case .linkAttached(link, _?) = event, links[link] == .waiting else { throw misplaced("link \(link) is refused") }
            links[link] = .over
        case .noteExecutor(let isSilent):
            guard mustNoteSilence == isSilent else { throw WorkerViolation(.heartbeat, "told of the executor without cause") }
            mustNoteSilence = nil
            life?.isSilenceTold = isSilent
        case .ping(let link):
            _ = try use(link)
            guard mustPing else { throw WorkerViolation(.heartbeat, "a ping that isn't due") }
            mustPing = false
        case .probeExecutor(let link):
            _ = try use(link)
            guard mustProbe else { throw WorkerViolation(.heartbeat, "a probe that isn't due") }
            mustProbe = false
            life?.probedAt = now
        case .measureMemory: guard limits.measuresMemory else { throw misplaced("memory is measured") }
        case .terminate(let grace):
            guard mustTerminate == grace, isRunning else { throw WorkerViolation(.grace, "SIGTERM, with \(grace) to go, is not due") }
            mustTerminate = nil
            if order == .asked, case .timePassed = event, verdicts.isEmpty {
                verdicts = [.stopTimedOut]
                mayTellOwn = false
            }
            order = .terminated(kill: now + grace)
        case .kill: try noteKill(now)
        case .cleanUp(let link): try noteCleanUp(link, event)
        case .startSucceeded:
            guard start == .ready, !told.success, !told.failure else { throw WorkerViolation(.startEndsOnce, "the start succeeds") }
            told.success = true
            life?.isReachable = true
        case .startFailed(let failure): try noteStartFailure(failure)
        case .lifeEnded(let reason): try noteEnd(reason)
        case .gone:
            guard !told.gone else { throw misplaced("it's gone a second time") }
            guard isNothingLeft else { throw WorkerViolation(.oneLife, "told gone while something is left") }
            told.gone = true
            phase = .over
        case .wake(let time):
            guard time >= now else { throw WorkerViolation(.wake, "a wake at \(time), which has passed") }
            if let wake, time >= wake { throw WorkerViolation(.wake, "a wake at \(time), and one at \(wake) is known") }
            wake = time
        }
    }

    private mutating func note(_ directive: WorkerMachine.LinkDirective, _ now: Duration) throws(WorkerViolation) {
        switch directive {
        case .welcome(let link): try noteWelcome(link, now)
        case .close(let link): try noteClose(link)
        case .introduce(let link): _ = try use(link)
        case .tellStart(let link):
            guard case .open = start else { throw misplaced("the start is told") }
            let isStopTold = try use(link).isStopTold
            links[link] = .welcomed(isStartTold: true, isStopTold: isStopTold)
        case .tellStop(let link, let stop): try noteTellStop(link, stop)
        case .bidFarewell(let link, _):
            guard lastWords != nil else { throw misplaced("a farewell is bidden") }
            _ = try use(link)
        case .becameReachable:
            guard canBeReached, !isKilled else { throw WorkerViolation(.reachable, "told reachable, and isn't") }
            life?.isReachable = true
        case .becameUnreachable:
            guard !canBeReached else { throw WorkerViolation(.reachable, "told unreachable, and isn't") }
            life?.isReachable = false
        case .recycle: try noteRecycling()
        }
    }

    private func misplaced(_ text: String) -> WorkerViolation { WorkerViolation(.directive, "\(text) when it's \(phase)") }

    /// Whether there is no process, or its end has been confirmed with all that descended from it.
    private var isNothingLeft: Bool { phase == .over || phase == .exited && !isCleaning }

    private func checkAfterwards(_ directive: WorkerMachine.Directive, _ event: WorkerMachine.Event) throws(WorkerViolation) {
        switch (directive, event) {
        case (.process(.startFailed), .startRequested), (.link(.close), .linkAttached): break
        default: throw misplaced("\(directive) is said after the end")
        }
    }

    private mutating func noteSpawn(_ event: WorkerMachine.Event) throws(WorkerViolation) {
        switch (phase, event) {
        case (.idle, .spareRequested), (.idle, .startRequested(false, _)), (.waitingForTurn, .turnCame): phase = .spawning
        default: throw misplaced("a process is spawned")
        }
    }

    // MARK: Links

    private func use(_ link: LinkID) throws(WorkerViolation) -> (isStartTold: Bool, isStopTold: Bool) {
        guard isRunning, case .welcomed(let isStartTold, let isStopTold)? = links[link] else {
            throw WorkerViolation(.link, "something is sent on link \(link), which is \(links[link].map { "\($0)" } ?? "unknown")")
        }
        return (isStartTold, isStopTold)
    }

    private mutating func noteWelcome(_ link: LinkID, _ now: Duration) throws(WorkerViolation) {
        guard phase == .known, links[link] == .waiting, current == link else {
            throw WorkerViolation(.link, "link \(link) is welcomed when it's \(phase)")
        }
        links[link] = .welcomed(isStartTold: false, isStopTold: false)
        hasBeenWelcomed = true
        life?.lastSign = now
        life?.probedAt = nil
    }

    private mutating func noteClose(_ link: LinkID) throws(WorkerViolation) {
        guard let state = links[link], state != .over else { throw WorkerViolation(.link, "link \(link) is closed, and isn't open") }
        links[link] = .over
        if current == link { current = nil }
    }

    private mutating func noteTellStop(_ link: LinkID, _ told: WorkerMachine.Stop) throws(WorkerViolation) {
        let isStartTold = try use(link).isStartTold
        guard order == .asked, let stop, told.grace == stop.grace else { throw misplaced("a stop is told, of \(told)") }
        guard told.drains == (hasRecycled || stop.drains) else {
            throw WorkerViolation(.recycling, "drains: \(told.drains), recycled: \(hasRecycled), asked: \(stop)")
        }
        links[link] = .welcomed(isStartTold: isStartTold, isStopTold: true)
    }

    // MARK: The end

    private mutating func noteRecycling() throws(WorkerViolation) {
        guard life != nil, isRecyclingDue else { throw WorkerViolation(.recycling, "no reason") }
        guard !isPaused else { throw WorkerViolation(.recycling, "it's paused") }
        guard !hasRecycled else { throw WorkerViolation(.recycling, "a second time") }
        guard order == .none, lastWords == nil else { throw WorkerViolation(.recycling, "it ends already") }
        hasRecycled = true
    }

    private mutating func noteKill(_ now: Duration) throws(WorkerViolation) {
        guard isRunning, !isKilled else { throw misplaced("a kill") }
        let due = passedDues(now)
        guard !due.isEmpty else { throw WorkerViolation(.grace, "SIGKILL is not due") }
        let stated = due.compactMap(\.verdict)
        if verdicts.isEmpty, !stated.isEmpty {
            verdicts = Set(stated)
            mayTellOwn = stated.count < due.count
        }
        if case .open = start, !stated.isEmpty { start = .failed(stated.count < due.count ? .any : .condemned) }
        order = .killed
    }

    /// Returns the reasons for a kill whose time has come; of those for which the process was expected to exit by itself, the earliest.
    private func passedDues(_ now: Duration) -> [Due] {
        let passed = dues.filter { $0.value.time <= now }
        let expected = passed.filter { $0.key.expectsExit }.values.map(\.time).min()
        return passed.filter { !$0.key.expectsExit || $0.value.time == expected }.map(\.value)
    }

    private mutating func noteCleanUp(_ link: LinkID?, _ event: WorkerMachine.Event) throws(WorkerViolation) {
        guard case .exited = event, phase == .exited else { throw misplaced("it's cleaned up") }
        guard link == current else { throw WorkerViolation(.link, "link \(String(describing: link)) is read to its end") }
        for link in links.keys { links[link] = .over }
        current = nil
    }

    private func isTrue(_ reason: ExitReason) -> Bool {
        verdicts.contains(reason) || mayTellOwn && reason == lastWords ?? status
    }

    private mutating func noteStartFailure(_ failure: WorkerMachine.Failure) throws(WorkerViolation) {
        guard isNothingLeft else { throw WorkerViolation(.oneLife, "a failed start is told while something of it is left") }
        guard !told.failure, !told.success else { throw WorkerViolation(.startEndsOnce, "the start fails a second time") }
        switch (start, failure) {
        case (.failed(.any), _), (.failed(.stopped), .stopped), (.failed(.thrown), .thrown): break
        case (.failed(.condemned), .condemned(let reason, _)) where verdicts.contains(reason): break
        case (.open, .exited(let reason)) where phase == .exited && isTrue(reason): break
        default:
            throw WorkerViolation(
                .startEndsOnce,
                "the start, \(start), fails by \(failure); it exited by \(status.map { "\($0)" } ?? "nothing")"
            )
        }
        told.failure = true
    }

    private mutating func noteEnd(_ reason: ExitReason) throws(WorkerViolation) {
        guard isNothingLeft else { throw WorkerViolation(.oneLife, "an end is told while something is left") }
        guard start == .ready, told.success, !told.end else { throw WorkerViolation(.lifeEndsOnce, "an end of a life that is \(start)") }
        guard isTrue(reason) else {
            throw WorkerViolation(.lifeEndsOnce, "ended by \(reason), and said \(lastWords.map { "\($0)" } ?? "nothing")")
        }
        told.end = true
    }
}
