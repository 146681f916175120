public import Supervision

extension WorkerMachine {
    /// The progress of the process, from the first request to its end.
    public enum State: Sendable {
        /// No process has been requested. Can transition to: waitingForTurn, spawning, ended.
        case idle
        /// A restart waits for its turn, so that a process doesn't spawn too often; the time that it may take begins then.
        /// Can transition to: spawning, ended.
        case waitingForTurn(timeout: Duration)
        /// The process is being spawned, or adopted. Can transition to: running, ended.
        case spawning(Spawning)
        /// The kernel has the process. Can transition to: cleaning.
        case running(Process)
        /// The process has exited, and what descends from it is being ended. Can transition to: ended.
        case cleaning(Outcome, isExplained: Bool)
        /// The process has left nothing. A start that is requested now fails with this failure. Can transition to: nothing.
        case ended(Failure)
    }

    /// A start that has been requested and hasn't ended.
    public struct Starting: Sendable {
        /// The time at which the start has taken too long.
        package var deadline: Duration
    }

    /// A process that is being spawned.
    public struct Spawning: Sendable {
        /// The start; `nil`: the process becomes a spare.
        package var starting: Starting?
        /// The failure for which the process is killed as soon as it's there; `nil`: it isn't killed.
        package var condemnation: Failure?
    }

    /// A process that the kernel has.
    public struct Process: Sendable {
        package var connection: Connection
        package var life: Life
        package var order = Order.none
        /// The reason for which the runtime has killed the process, or will have to.
        package var verdict: ExitReason?
        /// The reason that the worker has given for its end.
        package var lastWords: ExitReason?
        package var departure: Departure?
    }

    /// An exit that is expected: the ticket could not be given, the start has failed, or has been stopped before the processes above knew
    /// of the process, or the worker has announced its end.
    public struct Departure: Sendable {
        /// The time at which the process is killed because it hasn't exited.
        package var deadline: Duration
        /// The failure that it's killed for; `nil`: another reason is known already.
        package var failure: (reason: ExitReason, complaint: Complaint)?
    }

    /// The state of the worker's link.
    public enum Connection: Sendable {
        /// The processes above are being told of the process; a link that has come has to wait. Can transition to: awaited, linked.
        case announcing(LinkID?)
        /// The first link is awaited. `deadline`: when a spare has taken too long; `nil`: the start's own deadline holds.
        /// Can transition to: linked.
        case awaited(deadline: Duration?)
        /// The link has been lost. `deadline`: when that has lasted too long; `nil`: the end that the worker has announced has its own.
        /// Can transition to: linked.
        case unlinked(deadline: Duration?)
        /// The worker has been welcomed on this link. Can transition to: linked (another), unlinked.
        case linked(LinkID)
    }

    /// The purpose of the process.
    public enum Life: Sendable {
        /// The process waits to be given a life. Can transition to: starting, failed.
        case spare
        /// The coordinator is to start, and is told so on every link. Can transition to: ready, failed.
        case starting(Starting)
        /// The coordinator is ready. Can transition to: nothing.
        case ready(Ready)
        /// The start has failed, which is told when nothing is left of the process. Can transition to: nothing.
        case failed(Failure)
    }

    /// A coordinator that is ready.
    public struct Ready: Sendable {
        /// The time of the worker's last sign of life.
        package var lastSign: Duration
        /// The time at which the next ping is sent.
        package var beat: Duration
        /// The time at which the life has lasted long enough.
        package var age: Duration?
        /// The number of messages that the coordinator was sent.
        package var messages = 0
        package var recycling = Recycling.none
        /// The knowledge of the executor on which the coordinators run.
        package var executor = ExecutorWatch()
    }

    /// Whether the life is to be replaced.
    public enum Recycling: Sendable {
        /// The life has no reason to be replaced. Can transition to: due, requested.
        case none
        /// The life is replaced when it isn't paused any more. Can transition to: requested.
        case due(RecyclingCause)
        /// The owner has been asked to replace the life. Can transition to: nothing.
        case requested
    }

    /// The way in which the process has been told to end.
    public enum Order: Sendable {
        /// The process hasn't been told to end. Can transition to: asked, terminated, killed.
        case none
        /// The process was told by the stop frame, on every link. `deadline`: the time at which SIGTERM follows; `nil`: never.
        /// Can transition to: terminated, killed.
        case asked(Stop, deadline: Duration?)
        /// The process was told by SIGTERM, which SIGKILL follows at this time. Can transition to: terminated (sooner), killed.
        case terminated(kill: Duration)
        /// The process was sent SIGKILL. Can transition to: nothing.
        case killed
    }

    /// The outcome that is told when nothing is left of the process.
    public enum Outcome: Sendable {
        /// The process was a spare: the owner is told nothing.
        case unused(ExitReason)
        /// The start has failed.
        case startFailed(Failure)
        /// The life has ended.
        case lifeEnded(ExitReason)
    }
}

extension WorkerMachine {
    /// The content of the stop frame.
    public struct Stop: Sendable, Hashable {
        /// The time that the worker may take; `nil`: as long as it does.
        public let grace: Duration?
        /// Whether the worker first handles the messages that it has taken.
        public let drains: Bool

        package init(grace: Duration?, drains: Bool) {
            self.grace = grace
            self.drains = drains
        }
    }
}
