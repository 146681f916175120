extension Supervisor {
    /// An event or a request that the supervisor decides about.
    package enum Event: Sendable, Hashable {
        /// The start of a child was requested. This has no effect if the child lives or is about to; a stopped one is started with this
        /// specification, one that is stopping as soon as it has ended. Refused if the specification isn't valid under the policy.
        case startRequested(ChildSpecification)
        /// A start has succeeded: the child is ready.
        case started(String, Incarnation)
        /// A start has failed, and nothing of it is left.
        case startFailed(String, Incarnation, ExitReason)
        /// An incarnation has ended, and nothing of it is left; before `started` this counts as a failed start.
        case exited(String, Incarnation, ExitReason)
        /// A child has nothing left to do: the supervisor stops and forgets it, whatever its restart type.
        ///
        /// A significant child then counts as one that has ended by itself.
        case finished(String, Incarnation)
        /// The stop of a child was requested; its specification is kept unless it is temporary.
        case stopRequested(String)
        /// The removal of a child was requested: the supervisor stops and forgets it.
        case removeRequested(String)
        /// The restart of a child was requested: a living one is stopped first, one that is stopped or waits is started at once. This is
        /// not a failure.
        case restartRequested(String)
        /// The time of the latest ``Directive/wake(at:)`` has come.
        case timePassed
        /// The end of the supervisor was requested.
        case shutdownRequested(ExitReason)
        /// The policy was replaced: from now on failures, and ends of significant children, are judged by this one. Earlier decisions
        /// stand.
        ///
        /// Children may stay significant under a policy whose automatic shutdown is off.
        case policyChanged(SupervisionPolicy)
        /// The specification of a child was replaced: the child goes on, and earlier decisions stand.
        case specificationChanged(ChildSpecification)
    }
}
