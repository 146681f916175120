/// A rate limiter that allows a few events at once and a fixed number per second in the long run.
///
/// A token bucket reads no clock. It stores one point in time and hands out turns: a caller that has to wait is certain of its turn, and
/// the next caller's comes after it.
public struct TokenBucket: Sendable, Hashable {
    /// The number of tokens that are added each second; less than 1 counts as 1.
    public let rate: Int
    /// The number of tokens that the bucket holds; less than 1 counts as 1.
    public let burst: Int
    /// The time up to which the added tokens have been taken; nil if none has.
    private var spent: Duration?

    /// Creates a full bucket.
    ///
    /// The values aren't checked here; see ``validate()``.
    public init(rate: Int, burst: Int) {
        self.rate = rate
        self.burst = burst
    }

    /// Takes a token and returns when it may be used.
    ///
    /// - Parameter now: The monotonic time since any fixed origin.
    /// - Returns: `now` if a token is left, else the time at which the caller's own token is added.
    package mutating func takeToken(now: Duration) -> Duration {
        let interval = Duration.seconds(1) / max(rate, 1)
        let full = now - interval * max(burst, 1)
        let taken = max(spent ?? full, full) + interval
        spent = taken
        return max(taken, now)
    }

    /// Checks that the numbers make sense.
    ///
    /// - Throws: A ``SupervisionError`` of code ``SupervisionError/Code/invalidTokenBucket`` that names the value to correct.
    public func validate() throws(SupervisionError) {
        guard rate >= 1 else {
            throw SupervisionError(.invalidTokenBucket, "rate is \(rate); give 1 or more per second")
        }
        guard burst >= 1 else {
            throw SupervisionError(.invalidTokenBucket, "burst is \(burst); give 1 or more")
        }
    }
}
