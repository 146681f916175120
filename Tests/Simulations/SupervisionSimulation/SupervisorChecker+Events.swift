import Supervision

/// The effects of events.
extension SupervisorChecker {
    /// Whether an event brings a specification or a policy that makes no sense.
    func isInvalid(_ event: Supervisor.Event) -> Bool {
        switch event {
        case .startRequested(let specification), .specificationChanged(let specification):
            if isEnding { return false }
            if case .timeout(let time) = specification.shutdown, time < .zero { return true }
            if let limits = specification.restartLimits, Self.isNonsense(limits) { return true }
            return specification.isSignificant && (specification.restart == .permanent || policy.autoShutdown == .never)
        case .policyChanged(let policy):
            return (try? policy.validate()) == nil
        case .started, .startFailed, .exited, .finished, .stopRequested, .removeRequested, .restartRequested, .timePassed,
            .shutdownRequested:
            return false
        }
    }

    private static func isNonsense(_ limits: RestartLimits) -> Bool {
        if case .restarts(let count)? = limits.intensity, count < 0 { return true }
        if let period = limits.period, period <= .zero { return true }
        if [limits.shortestLife, limits.firstDelay, limits.delay].contains(where: { $0.map { $0 < .zero } ?? false }) { return true }
        return limits.backoff.map { (try? $0.validate()) == nil } ?? false
    }

    /// Takes note of an event.
    mutating func note(_ event: Supervisor.Event) {
        switch event {
        case .startRequested(let specification):
            if !isEnding, let slot = Place.slot(of: specification.id) { noteStartRequest(slot, specification) }
        case .stopRequested(let id):
            if let slot = known(id) { noteStopRequest(slot, isRemoval: false) }
        case .removeRequested(let id):
            if let slot = known(id) { noteStopRequest(slot, isRemoval: true) }
        case .finished(let id, let incarnation):
            guard let slot = known(id), let life = lines[slot].life, life.incarnation == incarnation else { return }
            if !life.isToldToStop { lines[slot].isFinishing = true }
            noteStopRequest(slot, isRemoval: true)
        case .restartRequested(let id):
            if let slot = known(id) { noteRestartRequest(slot) }
        case .started(let id, let incarnation):
            guard let slot = Place.slot(of: id), let life = lines[slot].life, life.incarnation == incarnation, lines[slot].isStarting else {
                return
            }
            lines[slot].life?.readySince = now
            change = if case .request = life.cause { .started } else { .restarted }
        case .startFailed(let id, let incarnation, let reason), .exited(let id, let incarnation, let reason):
            guard let slot = Place.slot(of: id), let life = lines[slot].life, life.incarnation == incarnation else { return }
            lines[slot].life = nil
            let isStopped = life.isToldToStop || life.readySince != nil && reason.isNormal
            change = isStopped ? .stopped(reason) : life.readySince == nil ? .startFailed(reason) : .crashed(reason)
            noteEnd(slot, of: life, reason)
        case .specificationChanged(let specification):
            if let slot = known(specification.id) { lines[slot].specification = specification }
        case .policyChanged(let policy):
            self.policy = policy
        case .timePassed:
            wake = nil
        case .shutdownRequested(let reason):
            if wish == nil { wish = reason }
            cancelStarts()
        }
    }

    private func known(_ id: String) -> Int? {
        guard !isEnding, let slot = Place.slot(of: id), lines[slot].isKnown else { return nil }
        return slot
    }

    private mutating func noteStartRequest(_ slot: Int, _ specification: ChildSpecification) {
        let line = lines[slot]
        // A child that lives or waits keeps the specification that it has.
        guard line.life.map(\.isToldToStop) ?? (line.cause == nil) else { return }
        lines[slot].specification = specification
        guard line.cause == nil else { return }
        lines[slot].cause = .request(isFirst: !line.isKnown || line.isLeaving)
        lines[slot].due = now
        lines[slot].isKnown = true
        lines[slot].attempts = 0
        lines[slot].comesBackLast = line.isLeaving
        lines[slot].isLeaving = false
    }

    private mutating func noteStopRequest(_ slot: Int, isRemoval: Bool) {
        lines[slot].cause = nil
        lines[slot].comesBackLast = false
        if isRemoval { lines[slot].isLeaving = true }
        toStop = slot
    }

    private mutating func noteRestartRequest(_ slot: Int) {
        if let life = lines[slot].life {
            guard !life.isToldToStop || lines[slot].cause == nil && !lines[slot].isLeaving else { return }
            toStop = slot
        } else {
            together?.members.remove(slot)
        }
        lines[slot].cause = .restart
        lines[slot].due = now
        lines[slot].attempts = 0
    }

    private mutating func noteEnd(_ slot: Int, of life: Life, _ reason: ExitReason) {
        let line = lines[slot]
        guard !life.isToldToStop else {
            lines[slot].due = now
            if line.cause == .failure, let together, together.isStopping { lines[slot].due = together.due }
            if line.isFinishing, line.isLeaving { noteEndForGood(slot) }
            return
        }
        ended = Ended(slot: slot, verdict: .nothing, end: Self.end(of: life, line, reason, now))
        noteEndOfRow(slot, of: life)
        if life.readySince == nil, case .request(let isFirst) = life.cause, !line.specification.isRetriedAtFirstStart {
            if isFirst { ended?.verdict = .forget }
            return
        }
        // A child that was about to be stopped for a sibling's sake comes back with it, and its end isn't counted.
        if let together, together.isStopping, together.members.contains(slot), line.isTemporary || !line.isFinal(reason) {
            if !line.isTemporary { (lines[slot].cause, lines[slot].due) = (.failure, together.due) }
            return
        }
        let isFailure = life.readySince == nil || !reason.isNormal
        if isEnding { return }
        if line.isFinal(reason) {
            ended?.verdict = .giveUp
        } else if line.specification.restart == .permanent || line.specification.restart == .transient && isFailure {
            ended?.verdict = .restart
            return
        }
        noteEndForGood(slot)
    }

    /// Takes note that a life ends, or is told to: the row of failures ends if the life has been ready for long enough.
    mutating func noteEndOfRow(_ slot: Int, of life: Life) {
        guard let readySince = life.readySince, now - readySince >= backoff(of: lines[slot]).resetAfter else { return }
        lines[slot].attempts = 0
    }

    private static func end(of life: Life, _ line: Line, _ reason: ExitReason, _ now: Duration) -> Ended.End {
        guard let readySince = life.readySince else { return .failedStart }
        if let shortest = line.specification.restartLimits?.shortestLife, now - readySince < shortest { return .failedStart }
        return reason.isNormal ? .normal : .failure
    }

    /// Takes note of an end that ends the supervisor if the policy says so.
    private mutating func noteEndForGood(_ slot: Int) {
        guard !isEnding, lines[slot].specification.isSignificant else { return }
        switch policy.autoShutdown {
        case .never: return
        case .anySignificant: break
        case .allSignificant:
            if lines.contains(where: { $0.isKnown && $0.specification.isSignificant && $0.isActive }) { return }
        }
        isComplete = true
        cancelStarts()
    }

    /// A supervisor that ends starts nothing any more.
    mutating func cancelStarts() {
        together = nil
        for slot in lines.indices { lines[slot].cause = nil }
    }
}

extension SupervisorChecker.Line {
    /// Whether the child isn't started again after such an end.
    func isFinal(_ reason: ExitReason) -> Bool {
        guard case .exited(let code) = reason else { return false }
        return (specification.restartLimits?.finalExitCodes ?? [78, 125]).contains(code)
    }

    /// The restarts that count.
    var counts: RestartLimits.Counted { specification.restartLimits?.counts ?? .everyRestart }

    /// Whether an end that is followed by a restart is none of a row of failures.
    func isNoFailure(_ end: SupervisorChecker.Ended.End?) -> Bool { counts != .everyRestart && end == .normal }

    /// Whether a restart after such an end counts.
    func isCounted(_ end: SupervisorChecker.Ended.End?) -> Bool {
        switch counts {
        case .everyRestart: true
        case .failures: end != .normal
        case .failedStarts: end == .failedStart
        }
    }
}
