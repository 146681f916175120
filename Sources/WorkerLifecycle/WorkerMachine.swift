public import Supervision

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

extension WorkerMachine {
    /// An event of the process, of its worker or of the owner.
    public enum Event: Sendable {
        /// The owner wants a spare: the process is spawned, and waits for a life.
        case spareRequested
        /// The process is given a life: it's spawned if it wasn't before, and a spare begins at once. The event occurs once.
        ///
        /// `isRestart`: it has to wait for its turn to be spawned. `timeout`: how long it may take to be ready, from its turn on.
        case startRequested(isRestart: Bool, timeout: Duration)
        /// The turn has come.
        case turnCame
        /// The kernel has the process.
        case spawned
        /// The process lives already, as the life of a parent that was killed: it isn't spawned, the processes above know of it, and its link
        /// is awaited. The answer to ``ProcessDirective/spawn`` instead of `spawned`, for a life only.
        case adopted
        /// The process could not be spawned, for this error.
        case spawnFailed(any Error)
        /// The worker can't read its ticket: it has exited, which is still to be told, or it has closed the descriptor.
        case ticketRefused(String)
        /// The processes above know of the process.
        case announced
        /// The processes above can't be told of the process.
        case announcementFailed(any Error)
        /// The worker has dialled. `refusal`: why it can't be welcomed.
        case linkAttached(LinkID, refusal: String?)
        /// A link is gone.
        case linkLost(LinkID)
        /// The coordinator is ready. The worker says so again on every link; only the first time counts.
        case ready
        /// The coordinator's start has thrown.
        case startRefused(any Error)
        /// The start can't be told to the worker, or its success can't be accepted.
        case startNotTold(any Error)
        /// The worker has given a sign of life.
        case heard
        /// The worker's executor has answered ``ProcessDirective/probeExecutor(_:)``, which is a sign of life too.
        case executorAnswered
        /// The worker has given the reason for its end, on this link; `hung`: it can't end by itself, and is to be killed.
        case exitAnnounced(ExitReason, LinkID)
        /// The life has been sent a message; said if ``Limits/messages`` counts them.
        case messageSent
        /// The process occupies this much memory; the answer to ``ProcessDirective/measureMemory``.
        case memoryMeasured(bytes: Int)
        /// The coordinator has been paused, or resumed.
        case pauseChanged(Bool)
        /// The life, or a start that is under way, is to end. A second request can only make it end sooner.
        case stopRequested(Shutdown)
        /// The process is of no use: it's killed.
        case discarded
        /// The kernel has confirmed the end of the process.
        case exited(ExitReason)
        /// Nothing is left of what descended from the process, and what it had sent has been read.
        case cleanedUp
        /// The time of the latest ``ProcessDirective/wake(at:)`` has come.
        case timePassed
    }
}

extension WorkerMachine {
    /// A step that the owner has to carry out.
    public enum Directive: Sendable {
        /// A step that concerns the process, or the beginning and the end of the life.
        case process(ProcessDirective)
        /// A step that sends on a link in use, ends asks or hands messages on, so that it may run code of users: it must not delay a step of
        /// the other kind.
        case link(LinkDirective)
    }

    /// A step that concerns the process, or the beginning and the end of the life; such steps are carried out in order.
    public enum ProcessDirective: Sendable {
        /// Wait for a turn to spawn, and say `turnCame`.
        case takeTurn
        /// Spawn the process, say `spawned`, and give it its ticket; or, if the life is there already, adopt its process and say `adopted`.
        case spawn
        /// Tell the processes above of the process.
        case announce
        /// Let no worker in with this process's secret any more.
        case expectNoLink
        /// Tell the worker on this link why it isn't welcome.
        case refuse(LinkID, String)
        /// Take note that the executor on which the worker's coordinators run has answered no probe for too long, or answers again.
        case noteExecutor(isSilent: Bool)
        /// Send a ping on this link at once, whatever the owner's executor does, since a parent that doesn't ask has no right to an answer. A
        /// link whose welcome is still to be sent needs none.
        case ping(LinkID)
        /// Send a ping in the same way that the executor answers on which the worker's coordinators run.
        case probeExecutor(LinkID)
        /// Say `memoryMeasured`.
        case measureMemory
        /// Send SIGTERM to the process, and SIGKILL to its group after the grace.
        case terminate(grace: Duration)
        /// Send SIGKILL to the process's group.
        case kill
        /// Read what the process has sent before its end, on this link, and end what descends from it; then say `cleanedUp`.
        case cleanUp(LinkID?)
        /// The start has succeeded.
        case startSucceeded
        /// The start has failed, and nothing is left of the process.
        case startFailed(Failure)
        /// The life whose start had succeeded has ended, and nothing is left of the process.
        case lifeEnded(ExitReason)
        /// Nothing is left of the process. Given once, as the last directive of all, but for the failure of a start that is requested later.
        case gone
        /// Say `timePassed` at this time, and forget earlier wakes. Given when a deadline is sooner than the wake that is known.
        case wake(at: Duration)
    }

    /// A step that sends on a link in use, ends asks or hands messages on; such steps are carried out in order.
    public enum LinkDirective: Sendable {
        /// Welcome the worker on this link; nothing has been sent on it before.
        case welcome(LinkID)
        /// Close a link that another has replaced, or that has come too late.
        case close(LinkID)
        /// Tell the worker what lasts: its dependencies, why it's paused, who listens.
        case introduce(LinkID)
        /// Tell the worker to start the coordinator.
        case tellStart(LinkID)
        /// Tell the worker to end.
        case tellStop(LinkID, Stop)
        /// Tell the worker that its end has been noted, and end the asks that it will not answer.
        case bidFarewell(LinkID, ExitReason)
        /// The coordinator can be reached: it's ready and has a link.
        case becameReachable
        /// The coordinator can't be reached: what is sent to it has to wait.
        case becameUnreachable
        /// Have the life replaced: `stopRequested` follows.
        case recycle(RecyclingCause)
    }

    /// The cause of a failed start.
    public enum Failure: Sendable {
        /// The process was told to stop before its coordinator was ready.
        case stopped
        /// The coordinator's start, or a step that precedes it, has thrown this error.
        case thrown(any Error)
        /// The runtime has given the process up, for this reason and with this complaint.
        case condemned(ExitReason, Complaint)
        /// The process has exited before it was ready.
        case exited(ExitReason)
    }

    /// The fault for which the runtime gives a process up.
    public enum Complaint: Sendable, Hashable {
        /// The coordinator wasn't ready within the time-out of its start.
        case startTimedOut
        /// The process has been without a link for too long.
        case noLink
        /// The process has given no sign of life for too long.
        case noSign
        /// The executor on which the process's coordinators run has answered no probe for too long.
        case silentExecutor
        /// A handler of the process runs on past its cancellation.
        case stuckHandler
        /// The process occupied more memory than its limit.
        case memoryExceeded
        /// The process can't read its ticket.
        case ticketRefused(String)
        /// The process speaks another protocol.
        case notWelcome(String)
        /// The process is of no use any more.
        case discarded
    }

    /// The limit for which a life is recycled.
    public enum RecyclingCause: Sendable, Hashable {
        case age
        case messages(Int)
        case memory(bytes: Int)
    }
}
