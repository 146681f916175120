import Supervision

/// An observer of one life of a supervisor, which checks the supervisor's directives against the events: the list of its demands is
/// ``Invariant``.
///
/// The checker is told the events, and learns from the directives what the supervisor has decided. It predicts no directive: it knows which
/// decisions are allowed at a moment, and which are due.
struct SupervisorChecker: Hashable {
    /// A life that has begun and not ended.
    struct Life: Hashable {
        var incarnation: Incarnation
        /// The cause of the start, which decides what a failure of it leads to.
        var cause: Cause
        /// The time since which the life has been ready; nil before.
        var readySince: Duration?
        var isToldToStop = false
    }

    /// The cause of a start.
    enum Cause: Hashable {
        /// The start was requested, of an id that was unknown or was to be forgotten, or of a child that was stopped.
        case request(isFirst: Bool)
        /// The restart was requested.
        case restart
        /// The child has failed, or is restarted for the sake of a sibling that has.
        case failure
    }

    /// The state of one id, according to the events and the directives.
    ///
    /// A known child without a life waits if there is a cause for a start, and is stopped otherwise.
    struct Line: Hashable {
        var isKnown = false
        var specification = ChildSpecification(id: "")
        var life: Life?
        /// The cause of the start that is to come.
        var cause: Cause?
        /// The time before which a child that waits is not to be started.
        var due = Duration.zero
        /// The number of restarts in a row.
        var attempts = 0
        /// Whether the latest restart follows a normal end, which is none of a row.
        var hasEndedNormally = false
        /// The child's restarts, if they are counted by themselves.
        var restarts: [Duration] = []
        var highest: Incarnation = 0
        /// Whether the child is to be forgotten when its life has ended.
        var isLeaving = false
        /// Whether the child itself has requested that, by finishing.
        var isFinishing = false
        /// Whether the child was requested again while its removal was under way, and so counts as a new one.
        var comesBackLast = false
        /// Whether the child has failed for good: no sibling's restart brings it back.
        var hasGivenUp = false

        var isTemporary: Bool { specification.restart == .temporary }
        var isWaiting: Bool { isKnown && life == nil && cause != nil }
        var isStarting: Bool { life.map { $0.readySince == nil && !$0.isToldToStop } ?? false }
        /// Whether the child lives and is to go on, or is about to be started.
        var isActive: Bool { life.map { !$0.isToldToStop || cause != nil } ?? (cause != nil) }
    }

    /// A restart of siblings that has been decided.
    struct Together: Hashable {
        /// The children, in start order.
        var all: [Int]
        /// Those that still take part in the stops.
        var members: Set<Int>
        /// Those whose turns are to come, in start order; the stops come from its end, the starts from its beginning.
        var turns: [Int]
        var isStopping = true
        var due: Duration

        func contains(_ slot: Int) -> Bool { isStopping ? members.contains(slot) : turns.contains(slot) }
    }

    /// A life that has ended by itself, and what has to follow.
    struct Ended: Hashable {
        enum Verdict: Hashable { case restart, giveUp, forget, nothing }

        /// The ways in which a life ends by itself.
        enum End: Hashable { case failedStart, failure, normal }

        let slot: Int
        var verdict: Verdict
        var end = End.failure

        func isThat(of slot: Int, _ verdict: Verdict) -> Bool { self.slot == slot && self.verdict == verdict }
    }

    var lines = [Line](repeating: Line(), count: Place.ids.count)
    /// The known children in start order.
    var order: [Int] = []
    var together: Together?
    var policy: SupervisionPolicy
    /// The order of the stops, by the policy with which the end began.
    var stopOrder: SupervisionPolicy.StopOrder
    let isolatesFailures: Bool
    /// The restarts of the children that are counted together.
    var restarts: [Duration] = []
    var wake: Duration?
    /// The reason with which the supervisor has been asked to end.
    var wish: ExitReason?
    /// Whether a child has exceeded its limit, so that the supervisor has to give up.
    var hasGivenUp = false
    /// Whether significant children have ended, so that the supervisor has to end.
    var isComplete = false
    var isOver = false
    var hasEscalated = false

    // Used while an event and its answer are checked.
    var now = Duration.zero
    var event = Supervisor.Event.timePassed
    /// The child that the event concerns, and that has to be stopped.
    var toStop: Int?
    /// The life that has ended by itself.
    var ended: Ended?
    /// The change that the event is, which has to be reported.
    var change: Supervisor.Change?
    /// The children that were told to stop in their turns at the supervisor's end.
    var inTurn: [Int] = []

    init(_ policy: SupervisionPolicy, isolatesFailures: Bool) {
        self.policy = policy
        stopOrder = policy.stopOrder
        self.isolatesFailures = isolatesFailures
    }

    var isEnding: Bool { wish != nil || hasGivenUp || isComplete }

    /// Takes note of an event and its answer, and checks that the answer fits the event, and the supervisor's table both.
    mutating func enter(
        _ event: Supervisor.Event,
        _ answer: [Supervisor.Directive],
        of supervisor: Supervisor,
        now: Duration
    ) throws(Violation) {
        if isOver {
            guard answer.isEmpty else { throw Violation(.noLeak, "after its end the supervisor answered \(event) with \(answer)") }
            return
        }
        (self.now, self.event, toStop, ended, change, inTurn) = (now, event, nil, nil, nil, [])
        if !isEnding { stopOrder = policy.stopOrder }
        let isRefused = if case .refused? = answer.first { true } else { false }
        guard isRefused == isInvalid(event) else {
            throw Violation(.refusal, isRefused ? "\(event) was refused" : "\(event) was not refused")
        }
        // A refused request has no effect: the other directives are there because time has passed.
        if !isRefused { note(event) }
        for directive in answer {
            guard !isOver else { throw Violation(.noLeak, "\(directive) came after the end") }
            try note(directive)
        }
        guard supervisor.isEnding == isEnding else {
            throw Violation(hasGivenUp ? .escalation : .autoShutdown, isEnding ? "it has a cause to end" : "it ends without a cause")
        }
        try checkWhatIsDue()
        try compare(with: supervisor)
    }

    /// Returns the checker without what makes no difference to the future: incarnations, the present time, and what is long past.
    func normalised(at now: Duration) -> SupervisorChecker {
        var checker = self
        (checker.now, checker.event, checker.inTurn) = (.zero, .timePassed, [])
        (checker.toStop, checker.ended, checker.change) = (nil, nil, nil)
        checker.wake = isEnding ? nil : wake.map { $0 - now }
        checker.restarts = isEnding ? [] : restarts.filter { $0 >= now - policy.period }.map { $0 - now }
        if checker.together?.isStopping == false {
            checker.together?.all = []
            checker.together?.members = []
        }
        checker.together?.due = together.map { max($0.due - now, .zero) } ?? .zero
        for slot in lines.indices {
            let line = lines[slot]
            checker.lines[slot].highest = 0
            checker.lines[slot].due = line.isWaiting ? line.due - now : .zero
            checker.lines[slot].restarts = line.restarts.filter { $0 >= now - period(of: line) }.map { $0 - now }
            checker.lines[slot].life?.incarnation = 0
            if line.life?.cause == .failure { checker.lines[slot].life?.cause = .restart }
            checker.lines[slot].life?.readySince = line.life?.readySince.map { max($0 - now, .zero - backoff(of: line).resetAfter) }
            guard isEnding else { continue }
            (checker.lines[slot].attempts, checker.lines[slot].restarts, checker.lines[slot].hasGivenUp) = (0, [], false)
            checker.lines[slot].life?.readySince = line.life?.readySince.map { _ in .zero }
        }
        return checker
    }

    func backoff(of line: Line) -> Backoff { line.specification.restartLimits?.backoff ?? policy.backoff }

    func period(of line: Line) -> Duration { line.specification.restartLimits?.period ?? policy.period }
}
