import Supervision
import WorkerLifecycle

/// Follows one worker process by its events and directives alone, and checks the directives that it may and must be given.
struct WorkerChecker: Hashable {
    typealias LinkID = WorkerMachine.LinkID

    enum Phase: Hashable {
        case idle, waitingForTurn, spawning, announcing, known, exited, over
    }

    enum LinkState: Hashable {
        /// The worker has dialled.
        case waiting
        /// The worker has been welcomed; the values are what it has been told since.
        case welcomed(isStartTold: Bool, isStopTold: Bool)
        /// The link is lost, closed or refused.
        case over
    }

    enum Order: Hashable {
        case none, asked, killed
        case terminated(kill: Duration)
    }

    /// The cause of a failed start; `any`: the start was requested of a process that was ending.
    enum Cause: Hashable {
        case stopped, thrown, condemned, any
    }

    struct Stop: Hashable {
        let grace: Duration?
        /// The time at which the grace is over; `nil`: never.
        var end: Duration?
        var drains = false
    }

    enum Start: Hashable {
        case none
        /// The start hasn't ended. `deadline`: `nil` as long as it waits for its turn.
        case open(deadline: Duration?)
        case failed(Cause)
        case ready
    }

    /// The parts of the start's and the life's outcome that have been told.
    struct Told: Hashable {
        var success = false
        var failure = false
        var end = false
        var gone = false
    }

    /// A reason to kill the process, and what the kill makes of the reason that is told.
    struct Due: Hashable {
        let time: Duration
        /// The reason that the kill leads to; `nil`: the kill isn't the reason that is told.
        let verdict: ExitReason?
    }

    enum Reason: Int, Hashable, CaseIterable {
        case noLink, ticket, failedStart, departure, stopBeforeAnnounced, endlessStop, atOnce, hung

        /// Whether the process was expected to exit by itself until then.
        var expectsExit: Bool {
            switch self {
            case .ticket, .failedStart, .departure, .stopBeforeAnnounced, .endlessStop: true
            case .noLink, .atOnce, .hung: false
            }
        }
    }

    struct Life: Hashable {
        var lastSign: Duration
        var beat: Duration
        var age: Duration?
        var messages = 0
        var isReachable = true
        /// The time at which the executor was probed that hasn't answered yet.
        var probedAt: Duration?
        var isSilenceTold = false
    }

    let limits: WorkerMachine.Limits
    var phase = Phase.idle
    var start = Start.none
    /// The time that the start may take.
    var timeout = Duration.zero
    var isSpare = false
    var told = Told()
    var links: [LinkID: LinkState] = [:]
    /// The link that counts, welcomed or not.
    var current: LinkID?
    var hasBeenWelcomed = false
    var order = Order.none
    /// The stop that holds.
    var stop: Stop?
    var dues: [Reason: Due] = [:]
    /// Whether the process is killed as soon as the processes above know of it.
    var isDoomed = false
    var life: Life?
    var isPaused = false
    var isRecyclingDue = false
    var hasRecycled = false
    var lastWords: ExitReason?
    /// The reasons that may be told besides that of the worker or of the kernel.
    var verdicts: Set<ExitReason> = []
    /// Whether the reason of the worker or of the kernel may be told.
    var mayTellOwn = true
    var status: ExitReason?
    var isAnnounced = false
    var isCleaning = false
    var wake: Duration?
    /// The time up to which the owner's lateness has been taken into account.
    var excusedUntil = Duration.zero
    /// The link that another has replaced.
    var replaced: LinkID?
    /// The ping that this event calls for.
    var mustPing = false
    /// The probe of the executor that this event calls for.
    var mustProbe = false
    /// What this event calls for to be told of the executor.
    var mustNoteSilence: Bool?
    /// The SIGTERM that this event calls for, by its grace.
    var mustTerminate: Duration?

    init(_ limits: WorkerMachine.Limits) {
        self.limits = limits
    }
}

extension WorkerChecker {
    /// Enters an event and the answer to it.
    mutating func enter(
        _ event: WorkerMachine.Event,
        _ directives: [WorkerMachine.Directive],
        now: Duration
    ) throws(WorkerViolation) {
        mustPing = false
        mustProbe = false
        mustNoteSilence = nil
        mustTerminate = nil
        replaced = nil
        excuseLateness(now)
        note(event, now)
        for directive in directives { try note(directive, event, now) }
        try checkStanding(event, now)
        try checkTime(event, now)
    }

    var isRunning: Bool { phase == .announcing || phase == .known }

    var isKilled: Bool { order == .killed }

    var welcomed: LinkID? {
        guard let current, case .welcomed = links[current] else { return nil }
        return current
    }

    /// Whether what is sent to the coordinator reaches it.
    var canBeReached: Bool {
        phase == .known && life != nil && welcomed != nil && lastWords == nil
    }

    var expectsSigns: Bool { isRunning && life != nil && !isKilled && lastWords == nil }

    /// The next time at which something must be done.
    var nextDue: Duration? {
        switch phase {
        case .idle, .waitingForTurn, .exited, .over: return nil
        case .spawning: return isDoomed ? nil : openDeadline
        case .announcing, .known:
            if isKilled { return nil }
            var times = dues.values.map(\.time)
            if let openDeadline { times.append(openDeadline) }
            if order == .asked, let end = stop?.end { times.append(end) }
            if let life, expectsSigns { times.append(life.beat) }
            if let age = life?.age { times.append(age) }
            return times.min()
        }
    }

    var openDeadline: Duration? {
        if case .open(let deadline) = start { deadline } else { nil }
    }

    mutating func add(_ reason: Reason, at time: Duration, _ verdict: ExitReason?) {
        if let due = dues[reason], due.time <= time { return }
        dues[reason] = Due(time: time, verdict: verdict)
    }
}
