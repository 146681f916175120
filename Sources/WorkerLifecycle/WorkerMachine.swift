import Supervision

/// The life of one worker process as a value: from the first request until nothing is left of the process.
///
/// The machine takes events in the past tense and the time, and returns directives for its owner to carry out in order. It does nothing by
/// itself and reads no clock, so the same events give the same directives.
///
/// A worker process is spawned either for a life, or as a spare that is given one later; a life that a killed parent has left may be adopted
/// instead. The owner answers
/// ``ProcessDirective/takeTurn`` with `turnCame`, ``ProcessDirective/spawn`` with `spawned`, `adopted` or `spawnFailed`,
/// ``ProcessDirective/announce`` with `announced` or `announcementFailed`, ``ProcessDirective/cleanUp(_:)`` with `cleanedUp`, and
/// ``ProcessDirective/wake(at:)`` with `timePassed`, and says `exited` once, after `spawned` or `adopted`, when the kernel has confirmed the end of the
/// process. All other events may come in any order, late or not at all.
///
/// - Guarantees: a start that was requested ends once, with ``ProcessDirective/startSucceeded`` or
///   ``ProcessDirective/startFailed(_:)``; the latter is given when nothing is left of the process. A life whose start has succeeded ends
///   once, with ``ProcessDirective/lifeEnded(_:)``, when nothing is left of it. ``ProcessDirective/gone`` is given once. A link is welcomed
///   only when the processes above know of the process, and nothing but the welcome comes first on it. A stop with a grace always ends: the
///   stop frame, SIGTERM and SIGKILL follow one another, each after its grace, and a second request can only shorten what is left. A stop
///   without one ends if the worker does, loses its link for good, or gives no sign of life; during a start, at the latest when the start
///   has timed out.
/// - Cost: an event costs O(1).
public struct WorkerMachine: Sendable {
    /// A link of the worker, numbered by the owner; a number is used once.
    public typealias LinkID = UInt64

    /// The limits on the time that each step may take, and on a life.
    public struct Limits: Sendable, Hashable {
        /// The time that a worker may be without a link once it has had one.
        public var link = Duration.seconds(10)
        /// The time that a spare may take to have its first link.
        public var firstLink = Duration.seconds(20)
        /// The time between two pings.
        public var heartbeat = Duration.seconds(1)
        /// The time that a worker which is ready may give no sign of life.
        public var heartbeatTimeout = Duration.seconds(10)
        /// Whether a worker is given up whose executor answers no probe for as long as ``heartbeatTimeout``; otherwise that is only reported.
        public var restartsSilentExecutor = false
        /// The time that a worker whose start has failed is given to end by itself.
        public var failedStart = Duration.seconds(1)
        /// The time in which a worker that can't read its ticket is expected to exit: why it can't, its exit says.
        public var ticketRefusal = Duration.seconds(5)
        /// The time between SIGTERM and SIGKILL, if the stop doesn't grant less.
        public var termination = Duration.seconds(2)
        /// The time that a worker is given to exit after it has announced its end.
        public var departure = Duration.seconds(10)
        /// The length of a life, after which it's recycled; `nil`: it doesn't age.
        public var age: Duration?
        /// The number of messages after which a life is recycled; `nil`: they aren't counted.
        public var messages: Int?
        /// The resident memory in bytes above which a life is recycled; `nil`: it isn't measured.
        public var memory: Int?

        /// The resident memory in bytes above which a process is killed; `nil`: it isn't measured.
        public var memoryLimit: Int?

        /// Creates the runtime's own limits; a life isn't recycled.
        public init() {}
    }

    /// The limits on the time that each step may take, and on a life.
    public let limits: Limits
    /// The progress of the process, from the first request to its end.
    public internal(set) var state = State.idle
    /// Whether the coordinator is paused: it isn't recycled then, since what waits in it would be lost.
    package internal(set) var isPaused = false
    /// The time of the event that is being handled.
    var now = Duration.zero
    /// The directives that the event that is being handled has led to so far.
    var directives: [Directive] = []
    /// The wake that the owner has been told of and that hasn't come yet.
    package internal(set) var announcedWake: Duration?
    /// The time of the latest event that has come after a wake that was late: up to then deadlines have been extended.
    var excusedUntil = Duration.zero

    /// Creates the machine of a process that hasn't been spawned.
    public init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Takes note of an event and returns the directives to carry out, in order.
    ///
    /// - Parameter now: the monotonic time since any fixed origin; it never runs backwards from one event to the next.
    public mutating func handle(_ event: Event, now: Duration) -> [Directive] {
        self.now = now
        if case .pauseChanged(let isPaused) = event { self.isPaused = isPaused }
        excuseLateness()
        if case .timePassed = event { announcedWake = nil }
        transition(event)
        announceNextWake()
        defer { directives = [] }
        return directives
    }

    mutating func give(_ directive: ProcessDirective) { directives.append(.process(directive)) }

    mutating func say(_ directive: LinkDirective) { directives.append(.link(directive)) }
}

// MARK: - Looking

extension WorkerMachine {
    /// The link in use: messages may be sent on it.
    public var link: LinkID? {
        if case .running(let process) = state, case .linked(let link) = process.connection { link } else { nil }
    }

    /// Whether the process is a spare that can be given a life at once.
    public var isWaiting: Bool {
        guard case .running(let process) = state, case .spare = process.life, isAlive else { return false }
        return link != nil
    }

    /// Whether there is a process, and no reason to think that it ends.
    public var isAlive: Bool {
        guard case .running(let process) = state, case .none = process.order, process.lastWords == nil else { return false }
        return process.verdict == nil && process.departure == nil
    }

    /// Whether there is a process that the processes above know of.
    public var isAnnounced: Bool {
        guard case .running(let process) = state else { return false }
        if case .announcing = process.connection { return false }
        return true
    }

    /// Whether the process has exited, or never was.
    public var hasEnded: Bool {
        switch state {
        case .cleaning, .ended: true
        case .idle, .waitingForTurn, .spawning, .running: false
        }
    }

    /// Returns the time for which the executor on which the worker's coordinators run has left a probe unanswered; `nil`: it owes no answer.
    public func executorSilence(now: Duration) -> Duration? {
        guard case .running(let process) = state, case .ready(let ready) = process.life else { return nil }
        return ready.executor.silence(now: now)
    }

    /// The time of the worker's last sign of life; `nil` before the coordinator is ready.
    public var lastSign: Duration? {
        if case .running(let process) = state, case .ready(let ready) = process.life { ready.lastSign } else { nil }
    }
}
