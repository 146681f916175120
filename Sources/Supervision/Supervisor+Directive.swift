extension Supervisor {
    /// An instruction that the owner carries out.
    package enum Directive: Sendable, Hashable {
        /// Start this incarnation; `attempt` is the number of restarts in a row, 0 for a start by request. A start for the sake of a sibling
        /// keeps the child's number, which is 0 if the child was stopped.
        case start(String, Incarnation, attempt: Int)
        /// Stop this incarnation, and report `exited` when it has ended. Given once per incarnation.
        case stop(String, Incarnation, Shutdown)
        /// Report a change of a child. The incarnation is the one that changed: for `restarting` and `gaveUp` the one that ended.
        case report(String, Incarnation, Change)
        /// The child is forgotten, its id unknown. Not given when the child was requested again while its removal was under way.
        case removed(String)
        /// Send `timePassed` at this time, and forget earlier wakes. Given when the next deadline has changed.
        case wake(at: Duration)
        /// The supervisor has given up, and all children have been stopped. Given once, as the last directive of all.
        case escalate(ExitReason)
        /// All children have been stopped, as was requested. Given once, as the last directive of all.
        case terminated(ExitReason)
        /// Significant children have ended, and all others have been stopped: the supervisor's exit reason is ``ExitReason/shutdown``,
        /// no failure. Given once, as the last directive of all.
        case autoShutdown
        /// The specification or policy that was given isn't valid, and nothing has changed; the id is nil when it was a policy.
        case refused(String?, SupervisionError)
    }

    /// A change of a child that is reported.
    package enum Change: Sendable, Hashable {
        /// The child is ready.
        case started
        /// The child ended as it was asked to, or as it should.
        case stopped(ExitReason)
        /// The child ended by itself, abnormally.
        case crashed(ExitReason)
        /// The child will be started again at that time; restarts in a row are numbered from 1.
        case restarting(attempt: Int, at: Duration)
        /// The child is ready again, without a request to start it.
        case restarted
        /// The child could not be started.
        case startFailed(ExitReason)
        /// The child will not be started again: the reason is permanent, or the supervisor gives up.
        case gaveUp(ExitReason)
    }
}
