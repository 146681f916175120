/// A difference between our supervisor and OTP's that is on purpose.
///
/// The comparison leaves out, or tells our supervisor in another way, exactly what is listed here. The article on supervision lists the
/// same differences, with their reasons.
package enum Difference: String, Sendable, Hashable, CaseIterable {
    // Differences of every scenario, which is made without them.

    /// Restarts wait for a backoff; in the comparison they don't.
    case backoff = "Backoff"
    /// A child may have restart limits of its own; in the comparison none has.
    case ownLimits = "Limits of a child"
    /// The root counts each child separately; in the comparison it doesn't.
    case isolatedRoot = "The root"
    /// Exit codes 78 and 125 are permanent failures; in the comparison they are failures like others.
    case permanentFailure = "Permanent failures"
    /// A child of a configuration file is retried when its first start fails; in the comparison none is.
    case retriedFirstStart = "First starts"
    /// A child may report that it has nothing left to do; in the comparison none does.
    case finished = "Finished children"
    /// A supervisor takes events while a start or a stop is under way; in the comparison they wait, as in OTP's process.
    case concurrency = "Concurrency"

    // Differences at certain moments.

    /// A supervisor that gives up fails, and so a transient one is restarted; OTP's ends with `shutdown`.
    case givingUpIsAFailure = "Giving up"
    /// A start by request of a stopped child uses the specification of the request; OTP's `restart_child` uses the one that was kept.
    case newSpecification = "Starting a stopped child"
    /// A restart by request is supervised: if its start fails, it's tried again, and a temporary child is restarted as well.
    case supervisedRequest = "Restarts by request"
    /// A restart of siblings is completed even when the child that failed to start in it is stopped, removed or restarted by request
    /// before it's tried again, or the policy changes; OTP leaves the later siblings stopped, and doesn't count them when a significant child
    /// ends meanwhile.
    case completedRestart = "Restarts of siblings"
    /// A child whose restart type becomes temporary while it isn't alive is forgotten: at once if it's stopped, at its next failure if it's
    /// being restarted. OTP keeps it, and tries again.
    case becomesTemporary = "Becoming temporary"
    /// Children may stay significant under a policy whose automatic shutdown was turned off; OTP starts them all the same, and refuses
    /// further changes.
    case significanceKept = "Significance that is left over"
    /// Children outside of the chain end together, before the chain; OTP's end one after the other, in reverse start order. The comparison
    /// tells ours in OTP's order if none of them outlives a child of the chain: the chain's own order, and the set of all, are compared.
    case laterChildren = "Later children"
}
