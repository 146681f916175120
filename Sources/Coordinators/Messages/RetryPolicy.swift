import ConcurrencySupport
public import Supervision

/// The rule by which a failed ask is repeated.
///
///     struct Quote: ResponderMessage {
///         static var retry: RetryPolicy { RetryPolicy(attempts: 3) }
///     }
///
/// A message that isn't idempotent is asked again only after an error that proves that no handler has begun; see
/// ``CoordinatorError/provesNothingExecuted``. All attempts share the time-out of the ask: no attempt begins after it, and none waits so long
/// that it would. Only errors of the runtime are retried, and none that a handler has thrown, unless the message is idempotent.
public struct RetryPolicy: Sendable, Hashable {
    /// The number of attempts in all; 1: the ask is not repeated.
    public var attempts: Int
    /// The pauses between the attempts.
    ///
    /// The second attempt waits `minimum`, and each later one `factor` times as long as the one before, up to `maximum`; `jitter` shortens
    /// each pause at random, and `resetAfter` has no meaning here.
    public var backoff: Backoff
    /// The codes of the errors after which the ask is repeated.
    public var codes: Set<CoordinatorError.Code>

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - attempts: The number of attempts in all.
    ///   - backoff: The pauses between the attempts; by default 10 ms doubling to 1 s, half of it jitter.
    ///   - codes: The codes of the errors after which the ask is repeated.
    public init(
        attempts: Int,
        backoff: Backoff = Backoff(minimum: .milliseconds(10), maximum: .seconds(1)),
        on codes: Set<CoordinatorError.Code> = [.peerLost, .draining, .mailboxFull, .restarting, .tooManyOpenAsks]
    ) {
        self.attempts = max(attempts, 1)
        self.backoff = backoff
        self.codes = codes
    }

    /// The ask is not repeated.
    public static let never = RetryPolicy(attempts: 1)

    /// The ask is repeated when the peer was lost, until its deadline: what an idempotent message does.
    public static let whenPeerIsLost = RetryPolicy(
        attempts: .max,
        backoff: Backoff(minimum: .milliseconds(10), maximum: .milliseconds(100)),
        on: [.peerLost]
    )

    func allows(_ attempt: Int, after error: CoordinatorError, isIdempotent: Bool) -> Bool {
        attempt <= attempts && codes.contains(error.code) && (isIdempotent || error.provesNothingExecuted)
    }

    /// Returns the pause before an attempt, the second or a later one.
    func pause(before attempt: Int, by time: TimeSource) -> Duration {
        var generator = SplitMix64(seed: time.seed)
        return backoff.delay(attempt: attempt, random: .random(in: 0..<1, using: &generator))
    }
}
