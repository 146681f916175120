extension Supervisor {
    /// What the owner is to do.
    public enum Directive: Sendable, Hashable {
        /// Begin this life; `attempt` is the number of restarts in a row, 0 when it was requested or is for a sibling's sake.
        case start(ID, Incarnation, attempt: Int)
        /// End this life, and say `exited` when it has ended. Given once per life.
        case stop(ID, Incarnation, Shutdown)
        /// Tell whoever wants to know; the incarnation is the one that the change is about, the ended one for `restarting` and `gaveUp`.
        case report(ID, Incarnation, Change)
        /// The child is forgotten, its id unknown. Not given when the child was requested again while its removal was under way.
        case removed(ID)
        /// Say `timePassed` at this time, and forget earlier wakes. Given when the next deadline has changed.
        case wake(at: Duration)
        /// The supervisor has given up, and all children have been stopped. Given once, as the last directive of all.
        case escalate(ExitReason)
        /// All children have been stopped, as was requested. Given once, as the last directive of all.
        case terminated(ExitReason)
        /// Significant children have ended, and all others have been stopped: the supervisor's exit reason is ``ExitReason/shutdown``,
        /// no failure. Given once, as the last directive of all.
        case autoShutdown
        /// The specification or policy that was given isn't valid, and nothing has changed; the id is nil when it was a policy.
        case refused(ID?, SupervisionError)
    }

    /// What has become of a child.
    public enum Change: Sendable, Hashable {
        /// It is ready.
        case started
        /// It ended as it was told to, or as it should.
        case stopped(ExitReason)
        /// It ended by itself, abnormally.
        case crashed(ExitReason)
        /// It will be started again then; restarts in a row are numbered from 1.
        case restarting(attempt: Int, at: Duration)
        /// It is ready again, without a request to start it.
        case restarted
        /// It could not be started.
        case startFailed(ExitReason)
        /// It will not be started again: the reason is permanent, or the supervisor gives up.
        case gaveUp(ExitReason)
    }
}
