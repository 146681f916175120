/// Tells when things may happen that must not happen too often: a few at once, and so many a second in the long run.
///
/// A value that reads no clock. It knows one time only, and hands out turns: a caller that has to wait has its turn for certain, and
/// the next caller's comes after it.
public struct TokenBucket: Sendable, Hashable {
    /// How many tokens a second come in; less than 1 counts as 1.
    public let rate: Int
    /// How many tokens the bucket holds; less than 1 counts as 1.
    public let burst: Int
    /// Tokens that came in up to this time have been taken; nil when none was.
    private var spent: Duration?

    /// Makes a full bucket; nothing is checked here, see ``validate()``.
    public init(rate: Int, burst: Int) {
        self.rate = rate
        self.burst = burst
    }

    /// Takes a token and returns when it may be used.
    ///
    /// - Parameter now: the monotonic time since any fixed origin.
    /// - Returns: `now` if a token is left, else the time at which the caller's own token will have come in.
    public mutating func take(now: Duration) -> Duration {
        let interval = Duration.seconds(1) / max(rate, 1)
        let full = now - interval * max(burst, 1)
        let taken = max(spent ?? full, full) + interval
        spent = taken
        return max(taken, now)
    }

    /// Checks that the numbers make sense.
    ///
    /// - Throws: a ``SupervisionError`` of code ``SupervisionError/Code/invalidTokenBucket`` that names the value to mend.
    public func validate() throws(SupervisionError) {
        guard rate >= 1 else {
            throw SupervisionError(.invalidTokenBucket, "rate is \(rate); give 1 or more per second")
        }
        guard burst >= 1 else {
            throw SupervisionError(.invalidTokenBucket, "burst is \(burst); give 1 or more")
        }
    }
}
