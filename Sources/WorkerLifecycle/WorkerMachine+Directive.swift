public import Supervision

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
