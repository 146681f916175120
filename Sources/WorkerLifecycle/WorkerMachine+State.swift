public import Supervision

extension WorkerMachine {
    /// Where the process is in its life.
    public enum State: Sendable {
        /// Nothing has been asked for. Can transition to: waitingForTurn, spawning, ended.
        case idle
        /// A restart waits for its turn, so that a process doesn't spawn too often; the time that it may take begins then.
        /// Can transition to: spawning, ended.
        case waitingForTurn(timeout: Duration)
        /// The process is being spawned. Can transition to: running, ended.
        case spawning(Spawning)
        /// The kernel has the process. Can transition to: cleaning.
        case running(Process)
        /// The process has exited, and what descends from it is being ended. Can transition to: ended.
        case cleaning(Outcome)
        /// Nothing is left. A start that is requested now fails with this. Can transition to: nothing.
        case ended(Failure)
    }

    /// A start that has been requested and hasn't ended.
    public struct Starting: Sendable {
        /// When the start has taken too long.
        package var deadline: Duration
    }

    /// What is known while the process is being spawned.
    public struct Spawning: Sendable {
        /// The start; `nil`: it becomes a spare.
        package var starting: Starting?
        /// Why the process is killed as soon as it's there.
        package var condemnation: Failure?
    }

    /// A process that the kernel has.
    public struct Process: Sendable {
        package var connection: Connection
        package var life: Life
        package var order = Order.none
        /// Why the runtime has killed it, or will have to.
        package var verdict: ExitReason?
        /// The reason that the worker has given for its end.
        package var lastWords: ExitReason?
        package var departure: Departure?
    }

    /// An exit that is expected: the ticket could not be given, the start has failed, or has been stopped before the processes above knew
    /// of the process, or the worker has announced its end.
    public struct Departure: Sendable {
        /// When the process is killed because it hasn't exited.
        package var deadline: Duration
        /// The failure that it's killed for; `nil`: another reason is known already.
        package var failure: (reason: ExitReason, complaint: Complaint)?
    }

    /// How the worker can be reached.
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

    /// What the process is for.
    public enum Life: Sendable {
        /// It waits to be given a life. Can transition to: starting, failed.
        case spare
        /// Its coordinator is to start, and is told so on every link. Can transition to: ready, failed.
        case starting(Starting)
        /// Its coordinator is ready. Can transition to: nothing.
        case ready(Ready)
        /// The start has failed, which is told when nothing is left of the process. Can transition to: nothing.
        case failed(Failure)
    }

    /// A coordinator that is ready.
    public struct Ready: Sendable {
        /// When the worker last gave a sign of life.
        package var lastSign: Duration
        /// When the next ping is sent.
        package var beat: Duration
        /// When the life has lasted long enough.
        package var age: Duration?
        /// How many messages it was sent.
        package var messages = 0
        package var recycling = Recycling.none
    }

    /// Whether the life is to be replaced.
    public enum Recycling: Sendable {
        /// There is no reason. Can transition to: due, requested.
        case none
        /// It's replaced when it isn't paused any more. Can transition to: requested.
        case due(RecyclingCause)
        /// The owner has been asked to replace it. Can transition to: nothing.
        case requested
    }

    /// How the process has been told to end.
    public enum Order: Sendable {
        /// It hasn't. Can transition to: asked, terminated, killed.
        case none
        /// By the stop frame, on every link. `deadline`: when SIGTERM follows; `nil`: never. Can transition to: terminated, killed.
        case asked(Stop, deadline: Duration?)
        /// By SIGTERM, which SIGKILL follows at this time. Can transition to: terminated (sooner), killed.
        case terminated(kill: Duration)
        /// By SIGKILL. Can transition to: nothing.
        case killed
    }

    /// What is told when nothing is left of the process.
    public enum Outcome: Sendable {
        /// It was a spare: nothing is told.
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
        /// How long the worker may take; `nil`: as long as it does.
        public let grace: Duration?
        /// Whether it handles first what it has taken.
        public let drains: Bool

        package init(grace: Duration?, drains: Bool) {
            self.grace = grace
            self.drains = drains
        }
    }
}
