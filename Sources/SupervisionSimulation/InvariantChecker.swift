import Supervision

/// What somebody knows who watches one life of a supervisor: what has happened, and what it has said should be done.
///
/// The checker knows nothing of how a supervisor works. It knows what may be demanded of any supervisor.
struct InvariantChecker: Hashable {
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
        /// There was another cause when it was requested.
        var wasAwaited = false
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
        /// What the specifications of the id say, which is always the same here.
        var limits: RestartLimits?
        /// Its restarts, if it's counted by itself.
        var restarts: [Duration] = []
        var highest: Incarnation = 0
        var life: Life?
        var notBefore: Duration?
    }

    var lines = [Line](repeating: Line(), count: Place.ids.count)
    /// The known children in start order.
    var order: [Int] = []
    var policy: SupervisionPolicy
    let isolatesFailures: Bool
    /// The restarts of those that are counted together.
    var restarts: [Duration] = []
    var wake: Duration?
    /// What the supervisor has been asked to end with.
    var wish: ExitReason?
    /// A child is over the intensity, and that can't be contained.
    var hasGivenUp = false
    /// Significant children have ended, so that the supervisor has to.
    var isComplete = false
    /// A significant child has ended for good, in this event.
    var mayComplete = false
    var isOver = false
    var hasEscalated = false

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
        mayComplete = false
        var stopped: Int?
        var cause = event
        if case .refused = answer.first {
            // As if nobody had asked; what else the supervisor does, it does because time has passed.
            cause = .timePassed
        } else {
            stopped = note(event, now: now)
        }
        if saysItEnds, !isEnding, mayComplete { isComplete = true }
        for directive in answer {
            guard !isOver else { throw Violation(.noLeak, "\(directive) came after the end") }
            try note(directive, event: cause, now: now)
        }
        if let stopped, !isOver, let life = lines[stopped].life, !life.isToldToStop {
            throw Violation(.stopWins, "\(Place.ids[stopped]) \(life.incarnation) was not stopped although that was requested")
        }
        guard saysItEnds == isEnding else {
            throw Violation(hasGivenUp ? .escalation : .autoShutdown, saysItEnds ? "it ends without a cause" : "it has a cause to end")
        }
        try checkEnding()
    }
}
