extension Supervisor {
    /// What has happened.
    public enum Event: Sendable, Hashable {
        /// A child is wanted. Nothing happens if it lives or is about to; a stopped one is started with this specification, one that
        /// is stopping as soon as it has ended. Refused if the specification isn't valid under the policy.
        case startRequested(ChildSpecification<ID>)
        /// A start has succeeded: the child is ready.
        case started(ID, Incarnation)
        /// A start has failed, and nothing of it is left.
        case startFailed(ID, Incarnation, ExitReason)
        /// A life has ended, and nothing of it is left; before `started` it counts as a failed start.
        case exited(ID, Incarnation, ExitReason)
        /// A child has nothing left to do: it shall be stopped and forgotten, whatever its restart type.
        ///
        /// A significant one counts then as one that has ended by itself.
        case finished(ID, Incarnation)
        /// A child shall not run; its specification is kept unless it is temporary.
        case stopRequested(ID)
        /// A child shall not run, and be forgotten.
        case removeRequested(ID)
        /// A child shall have a new life: a living one is stopped first, one that is stopped or waits is started at once. It is no failure.
        case restartRequested(ID)
        /// The time of the latest ``Directive/wake(at:)`` has come.
        case timePassed
        /// The supervisor shall end.
        case shutdownRequested(ExitReason)
        /// From now on failures, and ends of significant children, are judged by this policy; what was decided stays decided.
        ///
        /// Significant children may be there under a policy that doesn't ask about them.
        case policyChanged(SupervisionPolicy)
        /// From now on the child is judged by this specification: its life goes on, and what was decided stays decided.
        case specificationChanged(ChildSpecification<ID>)
    }
}
