/// The delays between the restarts of one child, and the time after which its failures are forgotten.
///
/// The first restart is immediate. The second waits ``minimum``, and each later one ``factor`` times as long as the one before, up to
/// ``maximum``. Each delay is shortened at random by up to ``jitter`` of itself, so that children that failed together aren't restarted
/// together. A child that stayed ready for ``resetAfter`` starts from the beginning.
public struct Backoff: Sendable, Hashable, Codable {
    /// The delay of the second restart, before jitter.
    public var minimum: Duration
    /// The longest delay.
    public var maximum: Duration
    /// The number that a delay is multiplied by to get the next one; at least 1.
    public var factor: Double
    /// The share of a delay that may be taken away at random, from 0 (none) to 1 (all of it).
    public var jitter: Double
    /// The time for which a child must have been ready before its earlier failures no longer count.
    public var resetAfter: Duration

    /// A backoff without delays: every restart is immediate.
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

    /// Returns the delay of the `attempt`-th restart in a row.
    ///
    /// - Parameters:
    ///   - attempt: The number of the restart, counted from 1; the first one has no delay.
    ///   - random: A random number in `0..<1`, which the caller draws: 0 gives the longest delay.
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

extension Backoff {
    /// Checks that the numbers make sense together.
    ///
    /// - Throws: A ``SupervisionError`` of code ``SupervisionError/Code/invalidBackoff`` that names the value to correct.
    public func validate() throws(SupervisionError) {
        guard minimum >= .zero else {
            throw SupervisionError(.invalidBackoff, "backoff.minimum is \(minimum); give 0 s or more")
        }
        guard maximum >= minimum else {
            throw SupervisionError(.invalidBackoff, "backoff.maximum is \(maximum); give at least backoff.minimum, \(minimum)")
        }
        guard factor >= 1, factor.isFinite else {
            throw SupervisionError(.invalidBackoff, "backoff.factor is \(factor); give 1 or more")
        }
        guard (0...1).contains(jitter) else {
            throw SupervisionError(.invalidBackoff, "backoff.jitter is \(jitter); give a share from 0 to 1")
        }
        guard resetAfter >= .zero else {
            throw SupervisionError(.invalidBackoff, "backoff.resetAfter is \(resetAfter); give 0 s or more")
        }
    }
}

/// A small generator with a seed: the same seed gives the same numbers everywhere.
///
/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014), https://doi.org/10.1145/2714064.2660195
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mixed(state)
    }

    /// Spreads a change of any bit over all bits.
    package static func mixed(_ state: UInt64) -> UInt64 {
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
