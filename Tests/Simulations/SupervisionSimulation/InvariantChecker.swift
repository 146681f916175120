import Supervision

/// An observer of one life of a supervisor, which checks the supervisor's directives against the events.
///
/// The checker knows nothing of how a supervisor works. It knows what may be demanded of any supervisor.
struct InvariantChecker: Hashable {
    /// A life that has begun and not ended.
    struct Life: Hashable {
        let incarnation: Incarnation
        var isReady = false
        var isToldToStop = false
    }

    /// The state of one id, according to the events and the directives.
    struct Line: Hashable {
        var isKnown = false
        /// Whether the child was requested, and the request wasn't taken back.
        var isWanted = false
        /// Whether there is a cause for a start that hasn't been made.
        var isLicensed = false
        /// Whether that cause is a request.
        var isRequested = false
        /// Whether there was another cause when the start was requested.
        var wasAwaited = false
        /// Whether the child's removal is under way.
        var isLeaving = false
        /// Whether the child itself has requested its removal, by finishing.
        var isFinishing = false
        /// Whether the child takes part in a restart of siblings that has been decided.
        var isJoined = false
        /// Whether the child has failed for good: no sibling's restart brings it back.
        var hasGivenUp = false
        /// Whether the child was requested again while its removal was under way.
        var comesBackLast = false
        /// The child's specification; also nil when it may be either of two.
        var specification: ChildSpecification?
        /// The restart limits, which are the same in all specifications of the id here.
        var limits: RestartLimits?
        /// The place in the order of stops, which is the same in all specifications of the id here.
        var stopPlace = StopPlace.chained
        /// The child's restarts, if they are counted by themselves.
        var restarts: [Duration] = []
        var highest: Incarnation = 0
        var life: Life?
        var notBefore: Duration?
    }

    var lines = [Line](repeating: Line(), count: Place.ids.count)
    /// The known children in start order.
    var order: [Int] = []
    var policy: SupervisionPolicy
    /// The order of the stops, by the policy with which the end began.
    var stopOrder: SupervisionPolicy.StopOrder
    let isolatesFailures: Bool
    /// The restarts of the children that are counted together.
    var restarts: [Duration] = []
    var wake: Duration?
    /// The reason with which the supervisor has been asked to end.
    var wish: ExitReason?
    /// Whether a child has exceeded the intensity, so that the supervisor has to give up.
    var hasGivenUp = false
    /// Whether significant children have ended, so that the supervisor has to end.
    var isComplete = false
    /// Whether a significant child has ended for good, in this event.
    var mayComplete = false
    var isOver = false
    var hasEscalated = false

    init(_ policy: SupervisionPolicy, isolatesFailures: Bool) {
        self.policy = policy
        stopOrder = policy.stopOrder
        self.isolatesFailures = isolatesFailures
    }

    var isEnding: Bool { wish != nil || hasGivenUp || isComplete }

    func life(_ slot: Int) -> Life? { lines[slot].life }

    /// Takes note of an event and its answer, and checks that the answer fits the event.
    ///
    /// - Parameter isEnding: whether the supervisor says now that it ends.
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
        if !isEnding { stopOrder = policy.stopOrder }
        var stopped: Int?
        var cause = event
        if case .refused = answer.first {
            // A refused request has no effect: the other directives are there because time has passed.
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
