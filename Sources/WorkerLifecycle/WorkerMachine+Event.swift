public import Supervision

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
