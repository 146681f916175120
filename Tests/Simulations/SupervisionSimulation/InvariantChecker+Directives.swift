import Supervision

/// The checks of the supervisor's directives.
extension InvariantChecker {
    mutating func note(_ directive: Machine.Directive, event: Machine.Event, now: Duration) throws(Violation) {
        switch directive {
        case .start(let id, let incarnation, _):
            try noteStart(slot(id), incarnation, event: event, now: now)
        case .stop(let id, let incarnation, let shutdown):
            try noteStop(slot(id), incarnation, shutdown, event: event)
        case .report(let id, let incarnation, let change):
            try noteReport(slot(id), incarnation, change, now: now)
        case .removed(let id):
            let slot = try slot(id)
            guard lines[slot].isKnown else { throw Violation(.removal, "\(id), which was unknown, was removed") }
            guard lines[slot].life == nil else { throw Violation(.removal, "\(id) was removed while it lived") }
            let highest = lines[slot].highest
            lines[slot] = Line()
            lines[slot].highest = highest
            order.removeAll { $0 == slot }
        case .wake(let time):
            guard time > now else { throw Violation(.wake, "a wake at \(time), which has passed") }
            guard time != wake else { throw Violation(.wake, "the same wake at \(time) twice") }
            wake = time
        case .refused:
            break
        case .escalate:
            guard hasGivenUp else { throw Violation(.escalation, "escalation without a cause") }
            hasEscalated = true
            try noteOver()
        case .terminated(let reason):
            guard reason == wish else { throw Violation(.noLeak, "ended with \(reason), and \(String(describing: wish)) was requested") }
            try noteOver()
        case .autoShutdown:
            guard isComplete else { throw Violation(.autoShutdown, "not due") }
            try noteOver()
        }
    }

    func slot(_ id: String) throws(Violation) -> Int {
        guard let slot = Place.slot(of: id) else { throw Violation(.directive, "nobody has heard of \(id)") }
        return slot
    }

    private mutating func noteStart(_ slot: Int, _ incarnation: Incarnation, event: Machine.Event, now: Duration) throws(Violation) {
        let line = lines[slot]
        let name = "\(Place.ids[slot]) \(incarnation)"
        guard line.isKnown else { throw Violation(.removal, "\(name), which is unknown, was started") }
        if let life = line.life { throw Violation(.oneLife, "\(name) was started while \(life.incarnation) lived") }
        guard incarnation > line.highest else { throw Violation(.incarnationsGrow, "\(name) after \(line.highest)") }
        guard line.isWanted, !isEnding else { throw Violation(.stopWins, "\(name) was started although nobody wanted it") }
        guard line.isLicensed else { throw Violation(.intensity, "\(name) was started without having been counted") }
        if let notBefore = line.notBefore, now < notBefore {
            throw Violation(.backoff, "\(name) was started before \(notBefore)")
        }
        if line.comesBackLast { order.removeAll { $0 == slot } }
        if !order.contains(slot) { order.append(slot) }
        lines[slot].highest = incarnation
        lines[slot].life = Life(incarnation: incarnation)
        lines[slot].isLicensed = false
        lines[slot].isLeaving = false
        lines[slot].comesBackLast = false
        lines[slot].notBefore = nil
        if case .startRequested(let specification) = event, specification.id == Place.ids[slot], line.notBefore == nil {
            // Its turn among its siblings may have come by chance, which the checker can't know.
            lines[slot].specification = line.isJoined && line.wasAwaited ? nil : specification
        }
        // One that is started because that was requested may still be stopped and started again with its siblings.
        if !lines[slot].isRequested { lines[slot].isJoined = false }
        lines[slot].isRequested = false
        lines[slot].isFinishing = false
        lines[slot].hasGivenUp = false
    }

    private mutating func noteStop(
        _ slot: Int,
        _ incarnation: Incarnation,
        _ shutdown: Shutdown,
        event: Machine.Event
    ) throws(Violation) {
        let name = "\(Place.ids[slot]) \(incarnation)"
        guard let life = lines[slot].life, life.incarnation == incarnation else {
            throw Violation(.directive, "\(name), which doesn't live, was stopped")
        }
        guard !life.isToldToStop else { throw Violation(.directive, "\(name) was stopped twice") }
        guard shutdown == lines[slot].specification?.shutdown ?? shutdown else {
            throw Violation(.directive, "\(name) was stopped with \(shutdown)")
        }
        if isEnding, life.isReady, let later = laterLife(than: slot) {
            throw Violation(.stopOrder, "\(name) was stopped before \(Place.ids[later]), which was started later, had ended")
        }
        lines[slot].life?.isToldToStop = true
        switch event {
        case .stopRequested(Place.ids[slot]), .removeRequested(Place.ids[slot]), .restartRequested(Place.ids[slot]),
            .finished(Place.ids[slot], incarnation):
            return
        default:
            break
        }
        // Stopped for a sibling's sake; a temporary child doesn't come back from that.
        guard !isEnding else { return }
        if lines[slot].specification?.restart == .temporary {
            lines[slot].isWanted = false
            lines[slot].isLeaving = true
        } else {
            lines[slot].isLicensed = true
        }
    }

    private mutating func noteReport(
        _ slot: Int,
        _ incarnation: Incarnation,
        _ change: Supervisor.Change,
        now: Duration
    ) throws(Violation) {
        let line = lines[slot]
        let name = "\(Place.ids[slot]) \(incarnation)"
        guard line.isKnown, incarnation == line.highest else {
            throw Violation(.directive, "\(change) was reported of \(name), and the latest is \(line.highest)")
        }
        switch change {
        case .started, .restarted:
            guard line.life?.isReady == true, line.life?.isToldToStop == false else {
                throw Violation(.directive, "\(name) was reported ready and isn't")
            }
        case .stopped, .startFailed, .crashed:
            guard line.life == nil else { throw Violation(.directive, "\(name) was reported \(change) while it lived") }
        case .restarting(let attempt, let time):
            let backoff = line.limits?.backoff ?? policy.backoff
            let delay = backoff.delay(attempt: attempt, random: 0)
            // The shortest delay may be rounded down by up to a nanosecond.
            let shortest = delay * (1 - backoff.jitter) - .nanoseconds(1)
            guard attempt >= 1, time - now <= delay, time - now >= shortest else {
                throw Violation(.backoff, "\(name) waits for \(time - now) at attempt \(attempt)")
            }
            let counted = count(slot, now)
            guard counted.restarts <= counted.allowed else {
                throw Violation(.intensity, "\(counted.restarts) restarts of \(name), and \(counted.allowed) are allowed")
            }
            lines[slot].notBefore = time
            lines[slot].isLicensed = true
            lines[slot].isJoined = policy.strategy != .oneForOne
            joinSiblings(of: slot)
        case .gaveUp(let reason):
            lines[slot].isWanted = false
            lines[slot].hasGivenUp = true
            lines[slot].isLicensed = false
            guard !reason.isPermanentFailure else { return }
            let counted = count(slot, now)
            guard counted.restarts > counted.allowed else {
                throw Violation(.intensity, "gave up on \(name) after \(counted.restarts - 1) restarts, and \(counted.allowed) are allowed")
            }
            if !isolatesFailures { hasGivenUp = true }
        }
    }

    /// Adds the siblings to a restart, including those that were stopped before it was decided, unless they are to be forgotten.
    private mutating func joinSiblings(of failed: Int) {
        guard policy.strategy != .oneForOne, let first = order.firstIndex(of: failed) else { return }
        for slot in policy.strategy == .oneForAll ? order[...] : order[first...] where slot != failed {
            let line = lines[slot]
            guard !line.isLeaving else { continue }
            lines[slot].isJoined = true
            if line.specification?.restart == .temporary || line.life == nil && line.hasGivenUp { continue }
            if line.life == nil || line.life?.isToldToStop == true {
                lines[slot].isWanted = true
                lines[slot].isLicensed = true
            }
        }
    }

    /// Counts a restart: with the siblings' where they share an intensity, by itself where it's the child's own.
    private mutating func count(_ slot: Int, _ now: Duration) -> (restarts: Int, allowed: Int) {
        let limits = lines[slot].limits
        let isShared = !isolatesFailures && limits?.intensity == nil && limits?.period == nil
        let oldest = now - (limits?.period ?? policy.period)
        let counted = (isShared ? restarts : lines[slot].restarts).filter { $0 >= oldest } + [now]
        if isShared { restarts = counted } else { lines[slot].restarts = counted }
        switch limits?.intensity {
        case .restarts(let allowed)?: return (counted.count, allowed)
        case .unlimited?: return (counted.count, .max)
        case nil: return (counted.count, policy.intensity)
        }
    }
}
