import Supervision

/// The checks of the supervisor's directives.
extension SupervisorChecker {
    mutating func note(_ directive: Supervisor.Directive) throws(Violation) {
        switch directive {
        case .start(let id, let incarnation, let attempt): try noteStart(slot(id), incarnation, attempt)
        case .stop(let id, let incarnation, let shutdown): try noteStop(slot(id), incarnation, shutdown)
        case .report(let id, let incarnation, let change): try noteReport(slot(id), incarnation, change)
        case .removed(let id): try noteRemoval(slot(id))
        case .wake(let time):
            guard time > now else { throw Violation(.wake, "a wake at \(time), which has passed") }
            guard time != wake else { throw Violation(.wake, "the same wake at \(time) twice") }
            wake = time
        case .refused: break
        case .escalate:
            guard hasGivenUp, wish == nil else { throw Violation(.escalation, "escalation without a cause") }
            hasEscalated = true
            try noteOver()
        case .terminated(let reason):
            guard reason == wish else { throw Violation(.noLeak, "ended with \(reason), and \(String(describing: wish)) was requested") }
            try noteOver()
        case .autoShutdown:
            guard isComplete, wish == nil else { throw Violation(.autoShutdown, "not due") }
            try noteOver()
        }
    }

    func slot(_ id: String) throws(Violation) -> Int {
        guard let slot = Place.slot(of: id) else { throw Violation(.directive, "nobody has heard of \(id)") }
        return slot
    }

    private mutating func noteOver() throws(Violation) {
        if let slot = lines.firstIndex(where: { $0.life != nil }) {
            throw Violation(.noLeak, "\(Place.ids[slot]) lived when its supervisor ended")
        }
        isOver = true
    }

    // MARK: - Starts and stops

    private mutating func noteStart(_ slot: Int, _ incarnation: Incarnation, _ attempt: Int) throws(Violation) {
        let line = lines[slot]
        let name = "\(Place.ids[slot]) \(incarnation)"
        guard line.isKnown else { throw Violation(.removal, "\(name), which is unknown, was started") }
        if let life = line.life { throw Violation(.oneLife, "\(name) was started while \(life.incarnation) lived") }
        guard incarnation > line.highest else { throw Violation(.incarnationsGrow, "\(name) after \(line.highest)") }
        guard let cause = line.cause else { throw Violation(.stopWins, "\(name) was started although nobody wanted it") }
        guard now >= line.due else { throw Violation(.backoff, "\(name) was started before \(line.due)") }
        guard attempt == line.attempts else {
            throw Violation(.attempts, "\(name) was started as attempt \(attempt), and it is \(line.attempts)")
        }
        if cause == .failure, together?.contains(slot) == true { try takeTurn(slot) }
        if line.comesBackLast {
            order.removeAll { $0 == slot }
            together?.members.remove(slot)
        }
        if !order.contains(slot) { order.append(slot) }
        lines[slot].highest = incarnation
        lines[slot].life = Life(incarnation: incarnation, cause: cause)
        lines[slot].cause = nil
        lines[slot].comesBackLast = false
        lines[slot].isFinishing = false
        lines[slot].hasGivenUp = false
    }

    /// Checks that a child is the next of its siblings to be started.
    private mutating func takeTurn(_ slot: Int) throws(Violation) {
        moveOn()
        guard let together, !together.isStopping, together.turns.first == slot, !lines[slot].isStarting else {
            throw Violation(.siblings, "\(Place.ids[slot]) was started, and its turn hasn't come")
        }
    }

    /// Moves on to the sibling whose turn it is.
    mutating func moveOn() {
        guard var next = together else { return }
        if next.isStopping {
            while let last = next.turns.last, lines[last].life == nil || !next.members.contains(last) { next.turns.removeLast() }
            if next.turns.isEmpty { (next.isStopping, next.turns) = (false, next.all) }
        }
        if !next.isStopping, next.due <= now {
            while let first = next.turns.first, !lines[first].isWaiting, !lines[first].isStarting { next.turns.removeFirst() }
        }
        together = next.isStopping || !next.turns.isEmpty ? next : nil
    }

    private mutating func noteStop(_ slot: Int, _ incarnation: Incarnation, _ shutdown: Shutdown) throws(Violation) {
        let name = "\(Place.ids[slot]) \(incarnation)"
        guard let life = lines[slot].life, life.incarnation == incarnation else {
            throw Violation(.directive, "\(name), which doesn't live, was stopped")
        }
        guard !life.isToldToStop else { throw Violation(.directive, "\(name) was stopped twice") }
        guard shutdown == lines[slot].specification.shutdown else { throw Violation(.directive, "\(name) was stopped with \(shutdown)") }
        lines[slot].life?.isToldToStop = true
        noteEndOfRow(slot, of: life)
        if isEnding {
            if life.readySince != nil { inTurn.append(slot) }
        } else if toStop == slot {
            toStop = nil
        } else {
            moveOn()
            guard let together, together.isStopping, together.turns.last == slot else {
                throw Violation(.siblings, "\(name) was stopped without a request, and its turn hasn't come")
            }
            // A temporary child doesn't come back from that.
            if lines[slot].isTemporary { lines[slot].isLeaving = true } else { lines[slot].cause = .failure }
        }
    }

    private mutating func noteRemoval(_ slot: Int) throws(Violation) {
        let line = lines[slot]
        guard line.isKnown else { throw Violation(.removal, "\(Place.ids[slot]), which was unknown, was removed") }
        guard line.life == nil else { throw Violation(.removal, "\(Place.ids[slot]) was removed while it lived") }
        guard line.isLeaving || line.isTemporary || ended?.isThat(of: slot, .forget) == true else {
            throw Violation(.removal, "\(Place.ids[slot]) was removed without a cause")
        }
        lines[slot] = Line()
        lines[slot].highest = line.highest
        order.removeAll { $0 == slot }
        together?.members.remove(slot)
    }

    // MARK: - Reports

    private mutating func noteReport(_ slot: Int, _ incarnation: Incarnation, _ change: Supervisor.Change) throws(Violation) {
        let line = lines[slot]
        let name = "\(Place.ids[slot]) \(incarnation)"
        guard line.isKnown, incarnation == line.highest else {
            throw Violation(.directive, "\(change) was reported of \(name), and the latest is \(line.highest)")
        }
        switch change {
        case self.change:
            self.change = nil
        case .started, .restarted, .startFailed, .crashed:
            throw Violation(.report, "\(change) was reported of \(name)")
        case .stopped:
            // One that was to be started isn't any more.
            guard line.life == nil else { throw Violation(.report, "\(change) was reported of \(name), which lives") }
        case .restarting(let attempt, let time):
            let end = ended?.end
            try checkVerdict(.restart, name, slot)
            let isNoFailure = line.isNoFailure(end)
            guard attempt == (isNoFailure || line.hasEndedNormally ? 1 : line.attempts + 1) else {
                throw Violation(.attempts, "\(name) waits for attempt \(attempt) after \(line.attempts)")
            }
            lines[slot].hasEndedNormally = isNoFailure
            guard delays(of: line, isNoFailure ? nil : attempt).contains(time - now) else {
                throw Violation(.backoff, "\(name) waits for \(time - now) at attempt \(attempt)")
            }
            let counted = line.isCounted(end) ? count(slot) : (restarts: 0, allowed: 0)
            guard counted.restarts <= counted.allowed else {
                throw Violation(.intensity, "\(counted.restarts) restarts of \(name), and \(counted.allowed) are allowed")
            }
            (lines[slot].attempts, lines[slot].cause, lines[slot].due) = (attempt, .failure, time)
            joinSiblings(of: slot)
        case .gaveUp:
            lines[slot].hasGivenUp = true
            if ended?.verdict == .giveUp { return try checkVerdict(.giveUp, name, slot) }
            let end = ended?.end
            try checkVerdict(.restart, name, slot)
            let counted = line.isCounted(end) ? count(slot) : (restarts: 1, allowed: 1)
            guard counted.restarts > counted.allowed else {
                throw Violation(.intensity, "gave up on \(name) after \(counted.restarts - 1) restarts, and \(counted.allowed) are allowed")
            }
            guard !isolatesFailures else { return }
            hasGivenUp = true
            cancelStarts()
        }
    }

    private mutating func checkVerdict(_ verdict: Ended.Verdict, _ name: String, _ slot: Int) throws(Violation) {
        guard ended?.isThat(of: slot, verdict) == true else {
            throw Violation(.verdict, "\(name) was to be restarted or given up, and the verdict is \(String(describing: ended))")
        }
        ended = nil
    }

    /// Returns the delays that are allowed before a restart; `attempt` is nil after an end that is none of a row.
    private func delays(of line: Line, _ attempt: Int?) -> ClosedRange<Duration> {
        let limits = line.specification.restartLimits
        if attempt == 1, let first = limits?.firstDelay { return first...first }
        if let delay = limits?.delay { return delay...delay }
        return Self.delays(backoff(of: line), attempt ?? 1)
    }

    /// Returns the delays that the documentation of ``Backoff`` allows, give or take a nanosecond.
    private static func delays(_ backoff: Backoff, _ attempt: Int) -> ClosedRange<Duration> {
        guard attempt > 1 else { return .zero ... .zero }
        var longest = min(backoff.minimum, backoff.maximum)
        for _ in 2..<attempt where longest < backoff.maximum { longest = min(longest * backoff.factor, backoff.maximum) }
        return longest * (1 - backoff.jitter) - .nanoseconds(1)...longest + .nanoseconds(1)
    }

    /// Takes note of the siblings that are restarted together with a child that has failed, also those that were stopped before.
    private mutating func joinSiblings(of failed: Int) {
        let affected: Set<Int>
        switch policy.strategy {
        case .oneForOne: affected = [failed]
        case .oneForAll: affected = Set(order)
        case .restForOne: affected = Set(order.drop { $0 != failed })
        }
        guard together != nil || affected.count > 1 else { return }
        var members = affected
        if let together { members.formUnion(together.isStopping ? Array(together.members) : together.turns.filter { lines[$0].isWaiting }) }
        var all = order.filter(members.contains)
        let due = all.filter { lines[$0].isWaiting }.map { lines[$0].due }.reduce(now, max)
        for slot in all where !lines[slot].isTemporary {
            if lines[slot].isWaiting {
                lines[slot].due = due
            } else if lines[slot].life == nil {
                guard affected.contains(slot), !lines[slot].hasGivenUp else { continue }
                (lines[slot].cause, lines[slot].due, lines[slot].attempts) = (.failure, due, 0)
            } else if lines[slot].life?.isToldToStop == true, lines[slot].cause == nil, !lines[slot].isLeaving, affected.contains(slot) {
                lines[slot].cause = .failure
            }
        }
        // A temporary child that waits is forgotten instead.
        for slot in all where lines[slot].isTemporary && lines[slot].life == nil { lines[slot].cause = nil }
        all.removeAll { lines[$0].isTemporary && lines[$0].life == nil }
        together = Together(all: all, members: members.intersection(all), turns: all, due: due)
    }

    /// Counts a restart: with the siblings' where they share an intensity, by itself where it's the child's own.
    private mutating func count(_ slot: Int) -> (restarts: Int, allowed: Int) {
        let limits = lines[slot].specification.restartLimits
        let allowed: Int
        switch limits?.intensity {
        case .restarts(let count)?: allowed = count
        case .unlimited?: return (0, .max)
        case nil where lines[slot].counts != .everyRestart && policy.limitsFailures == false: return (0, .max)
        case nil: allowed = policy.intensity
        }
        let isShared = !isolatesFailures && limits?.intensity == nil && limits?.period == nil
        let counted = (isShared ? restarts : lines[slot].restarts).filter { $0 >= now - period(of: lines[slot]) } + [now]
        if isShared { restarts = counted } else { lines[slot].restarts = counted }
        return (counted.count, allowed)
    }
}
