/// The state of a coordinator, as its parent sees it.
///
/// More cases may be added.
@nonexhaustive
public enum CoordinatorState: String, Sendable, Hashable, Codable {
    /// The child isn't running: it was stopped, or has ended as it should.
    case inactive
    /// The child's `start` hook runs, or its process is being started.
    case starting
    /// The child is ready.
    case active
    /// The child is ready, and messages to it wait until it's resumed.
    case paused
    /// The child is ending.
    case stopping
    /// The child has failed and is started again, at once or after a delay.
    case restarting
    /// The child has failed three times in a row or more, hasn't lived for long since, and is started again after a delay.
    case failing
    /// The child has failed more often than the policy allows, or for good.
    case failed
}
