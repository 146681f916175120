/// How long restarts of one child are held back, and when its failures are forgotten.
///
/// The first restart is immediate. The ones after it wait ``minimum``, then ``factor`` times as long each time, up to ``maximum``;
/// each delay is shortened at random by up to ``jitter`` of itself, so that children that fell together do not rise together.
/// A child that stayed ready for ``resetAfter`` starts from the beginning.
public struct Backoff: Sendable, Hashable, Codable {
    /// The delay of the second restart, before jitter.
    public var minimum: Duration
    /// No delay is longer.
    public var maximum: Duration
    /// What a delay is multiplied by to get the next one; at least 1.
    public var factor: Double
    /// The share of a delay that chance may take away, from 0 (none) to 1 (all of it).
    public var jitter: Double
    /// How long a child must have been ready for its earlier failures not to count any more.
    public var resetAfter: Duration

    /// Every restart is immediate.
    public static let none = Backoff(minimum: .zero, maximum: .zero)

    /// Makes a backoff; the defaults are 100 ms doubling to 30 s, half of it jitter, forgotten after 30 s of being ready.
    public init(
        minimum: Duration = .milliseconds(100),
        maximum: Duration = .seconds(30),
        factor: Double = 2,
        jitter: Double = 0.5,
        resetAfter: Duration = .seconds(30)
    ) {
        self.minimum = minimum
        self.maximum = maximum
        self.factor = factor
        self.jitter = jitter
        self.resetAfter = resetAfter
    }

    /// How long the `attempt`-th restart in a row waits.
    ///
    /// - Parameters:
    ///   - attempt: counted from 1; the first one waits for nothing.
    ///   - random: a number in `0..<1`, the caller's chance: 0 gives the longest delay.
    public func delay(attempt: Int, random: Double) -> Duration {
        guard attempt > 1 else { return .zero }
        var delay = min(minimum, maximum)
        if factor > 1, delay > .zero {
            var doublings = attempt - 2
            while doublings > 0, delay < maximum {
                // The quotient is compared, not the product: a product may be more than a Duration holds.
                delay = delay >= maximum / factor ? maximum : delay * factor
                doublings -= 1
            }
        }
        return delay - delay * (jitter * random)
    }
}
