import Supervision

/// What somebody knows who watches one life of a supervisor: what has happened, and what it has said should be done.
///
/// The books know nothing of how a supervisor works; they hold what may be demanded of any.
struct Books: Hashable {
    /// A life that has begun and not ended.
    struct Life: Hashable {
        let incarnation: Incarnation
        var isReady = false
        var isToldToStop = false
    }

    /// What is known of one id.
    struct Line: Hashable {
        var isKnown = false
        /// Nobody has taken its start back.
        var isWanted = false
        /// There is a cause for a start that hasn't been made.
        var isLicensed = false
        /// That cause is a request.
        var isRequested = false
        /// Its removal is under way.
        var isLeaving = false
        /// It says itself that it shall be removed.
        var isFinishing = false
        /// It takes part in a restart of siblings that has been decided.
        var isJoined = false
        /// It failed for good: no sibling brings it back.
        var hasGivenUp = false
        /// It was wanted again while its removal was under way.
        var comesBackLast = false
        /// Nil as well when it can't be known which of two it is.
        var specification: ChildSpecification<String>?
        var highest: Incarnation = 0
        var life: Life?
        var notBefore: Duration?
    }

    private(set) var lines = [Line](repeating: Line(), count: Place.ids.count)
    /// The known children in start order.
    private var order: [Int] = []
    private var policy: SupervisionPolicy
    private let isolatesFailures: Bool
    private var restarts: [Duration] = []
    private(set) var wake: Duration?
    /// What the supervisor has been asked to end with.
    private var wish: ExitReason?
    /// A child is over the intensity, and that can't be contained.
    private var hasGivenUp = false
    /// Significant children have ended, so that the supervisor has to.
    private var isComplete = false
    /// A significant child has ended for good, in this event.
    private var mayComplete = false
    private(set) var isOver = false
    private(set) var hasEscalated = false

    init(_ policy: SupervisionPolicy, isolatesFailures: Bool) {
        self.policy = policy
        self.isolatesFailures = isolatesFailures
    }

    var isEnding: Bool { wish != nil || hasGivenUp || isComplete }

    func life(_ slot: Int) -> Life? { lines[slot].life }

    /// Enters an event and its answer, and finds out whether the one fits the other.
    ///
    /// - Parameter isEnding: what the supervisor says of itself now.
    mutating func enter(
        _ event: Machine.Event,
        _ answer: [Machine.Directive],
        isEnding saysItEnds: Bool,
        now: Duration
    ) throws(Violation) {
        if isOver {
            guard answer.isEmpty else { throw Violation(.noLeak, "after its end the supervisor answered \(event) with \(answer)") }
            return
        }
        if case .refused = answer.first { return }
        mayComplete = false
        let stopped = note(event, now: now)
        if saysItEnds, !isEnding, mayComplete { isComplete = true }
        for directive in answer {
            guard !isOver else { throw Violation(.noLeak, "\(directive) came after the end") }
            try note(directive, event: event, now: now)
        }
        if let stopped, !isOver, let life = lines[stopped].life, !life.isToldToStop {
            throw Violation(.stopWins, "\(Place.ids[stopped]) \(life.incarnation) was not stopped although that was requested")
        }
        guard saysItEnds == isEnding else {
            throw Violation(hasGivenUp ? .escalation : .autoShutdown, saysItEnds ? "it ends without a cause" : "it has a cause to end")
        }
        try checkEnding()
    }

    // MARK: - Events

    /// Enters what has happened; tells the child that now has to be stopped.
    private mutating func note(_ event: Machine.Event, now: Duration) -> Int? {
        switch event {
        case .startRequested(let specification):
            guard !isEnding, let slot = Place.slot(of: specification.id) else { return nil }
            lines[slot].isKnown = true
            lines[slot].isWanted = true
            if lines[slot].life == nil || lines[slot].life?.isToldToStop == true {
                // One that waits keeps the specification that it has; one that is started now has this.
                if lines[slot].life != nil { lines[slot].specification = specification }
                lines[slot].isLicensed = true
                lines[slot].isRequested = true
            }
            if lines[slot].isLeaving {
                lines[slot].isLeaving = false
                lines[slot].comesBackLast = true
            }
        case .restartRequested(let id):
            guard !isEnding, let slot = Place.slot(of: id), lines[slot].isKnown, !lines[slot].isLeaving else { return nil }
            lines[slot].isWanted = true
            lines[slot].isLicensed = true
            lines[slot].isRequested = true
            lines[slot].notBefore = nil
            return lines[slot].life == nil ? nil : slot
        case .stopRequested(let id), .removeRequested(let id):
            guard !isEnding, let slot = Place.slot(of: id) else { return nil }
            lines[slot].isWanted = false
            lines[slot].isLicensed = false
            lines[slot].notBefore = nil
            lines[slot].comesBackLast = false
            if case .removeRequested = event, lines[slot].life != nil { lines[slot].isLeaving = true }
            return slot
        case .started(let id, let incarnation):
            guard let slot = Place.slot(of: id), lines[slot].life?.incarnation == incarnation else { return nil }
            lines[slot].life?.isReady = true
        case .startFailed(let id, let incarnation, let reason), .exited(let id, let incarnation, let reason):
            guard let slot = Place.slot(of: id), let life = lines[slot].life, life.incarnation == incarnation else { return nil }
            lines[slot].life = nil
            if !life.isToldToStop {
                noteEnd(of: slot, reason, wasReady: life.isReady)
            } else if lines[slot].isFinishing {
                noteSignificance(of: slot)
            }
        case .finished(let id, let incarnation):
            guard !isEnding, let slot = Place.slot(of: id), let life = lines[slot].life, life.incarnation == incarnation else { return nil }
            lines[slot].isWanted = false
            lines[slot].isLicensed = false
            lines[slot].isLeaving = true
            lines[slot].comesBackLast = false
            if !life.isToldToStop { lines[slot].isFinishing = true }
            return slot
        case .shutdownRequested(let reason):
            if wish == nil { wish = reason }
            for slot in lines.indices {
                lines[slot].isWanted = false
                lines[slot].isLicensed = false
            }
        case .timePassed:
            wake = nil
        case .policyChanged(let policy):
            self.policy = policy
        case .specificationChanged(let specification):
            if !isEnding, let slot = Place.slot(of: specification.id), lines[slot].isKnown { lines[slot].specification = specification }
        }
        return nil
    }

    /// A life has ended by itself.
    private mutating func noteEnd(of slot: Int, _ reason: ExitReason, wasReady: Bool) {
        if lines[slot].isJoined { lines[slot].isLicensed = true }
        guard let specification = lines[slot].specification else { return noteSignificance(of: slot) }
        let isTemporary = specification.restart == .temporary
        let mayBeLast = isTemporary || specification.restart == .transient && wasReady && reason.isNormal
        guard mayBeLast || reason.isPermanentFailure else { return }
        // One that was about to be stopped for a sibling's sake comes back with it.
        if isTemporary || reason.isPermanentFailure || !lines[slot].isJoined { lines[slot].isWanted = false }
        noteSignificance(of: slot)
    }

    private mutating func noteSignificance(of slot: Int) {
        guard lines[slot].specification?.isSignificant ?? true else { return }
        switch policy.autoShutdown {
        case .never: break
        case .anySignificant: mayComplete = true
        case .allSignificant:
            let isAnotherThere = lines.contains { $0.specification?.isSignificant == true && $0.life?.isToldToStop == false }
            mayComplete = !isAnotherThere
        }
    }

    // MARK: - Directives

    private mutating func note(_ directive: Machine.Directive, event: Machine.Event, now: Duration) throws(Violation) {
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

    private func slot(_ id: String) throws(Violation) -> Int {
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
            // Perhaps its turn among its siblings had come by chance; nobody can tell.
            lines[slot].specification = line.isJoined ? nil : specification
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
        if isEnding, let later = laterLife(than: slot) {
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
        _ change: Supervisor<String>.Change,
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
            let delay = policy.backoff.delay(attempt: attempt, random: 0)
            // The halves of a nanosecond are nobody's.
            let shortest = delay * (1 - policy.backoff.jitter) - .nanoseconds(1)
            guard attempt >= 1, time - now <= delay, time - now >= shortest else {
                throw Violation(.backoff, "\(name) waits for \(time - now) at attempt \(attempt)")
            }
            count(now)
            guard restarts.count <= policy.intensity else {
                throw Violation(.intensity, "\(restarts.count) restarts within \(policy.period), and \(policy.intensity) are allowed")
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
            count(now)
            guard restarts.count > policy.intensity else {
                throw Violation(.intensity, "gave up on \(name) after \(restarts.count - 1) restarts within \(policy.period)")
            }
            if !isolatesFailures { hasGivenUp = true }
        }
    }

    /// A restart of siblings brings back those as well that were stopped before it was decided, unless they are to be forgotten.
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

    private mutating func count(_ now: Duration) {
        let oldest = now - policy.period
        restarts.removeAll { $0 < oldest }
        restarts.append(now)
    }

    // MARK: - The end

    private func laterLife(than slot: Int) -> Int? {
        order.reversed().prefix { $0 != slot }.first { lines[$0].life != nil }
    }

    private mutating func noteOver() throws(Violation) {
        if let slot = lines.firstIndex(where: { $0.life != nil }) {
            throw Violation(.noLeak, "\(Place.ids[slot]) lived when its supervisor ended")
        }
        isOver = true
    }

    /// A supervisor that ends is always waiting for the latest of its children.
    private func checkEnding() throws(Violation) {
        guard isEnding, !isOver else { return }
        guard let last = order.last(where: { lines[$0].life != nil }) else {
            throw Violation(hasGivenUp ? .escalation : .quiescence, "no child lives, and the supervisor has not ended")
        }
        guard lines[last].life?.isToldToStop == true else {
            throw Violation(.stopOrder, "\(Place.ids[last]) is the latest of an ending supervisor's children and was not stopped")
        }
    }

    /// Compares the supervisor's table with what lives.
    func compare(with supervisor: Supervisor<String>) throws(Violation) {
        var known = 0
        for (specification, state) in supervisor.children {
            known += 1
            let slot = try slot(specification.id)
            let line = lines[slot]
            guard line.isKnown else { throw Violation(.removal, "\(specification.id) is unknown and in the table") }
            guard state.incarnation == line.life?.incarnation else {
                throw Violation(.table, "\(specification.id) is \(state), and \(line.life?.incarnation ?? 0) lives")
            }
            switch state {
            case .starting where line.life?.isReady == false && line.life?.isToldToStop == false: break
            case .running where line.life?.isReady == true && line.life?.isToldToStop == false: break
            case .stopping where line.life?.isToldToStop == true: break
            case .waiting where line.isWanted && !isOver: break
            case .stopped: break
            default: throw Violation(.table, "\(specification.id) is \(state) and \(line)")
            }
        }
        guard known == lines.reduce(0, { $0 + ($1.isKnown ? 1 : 0) }) else {
            throw Violation(.removal, "\(known) children are in the table")
        }
    }
}
