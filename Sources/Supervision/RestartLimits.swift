/// The limits on the restarts of one child; a value that is nil is taken from the supervisor's policy.
///
/// A child that has an intensity or a period of its own is counted separately: its restarts don't count for its siblings, nor theirs for
/// it. OTP counts the restarts of all children together and has no such limits.
public struct RestartLimits: Sendable, Hashable, Codable {
    /// The number of restarts that are allowed within the period.
    public enum Intensity: Sendable, Hashable, Codable, ExpressibleByIntegerLiteral {
        /// This many restarts; after one more the child is given up.
        case restarts(Int)
        /// Any number: the child is never given up for failing too often.
        case unlimited

        /// Creates an intensity of this many restarts.
        public init(integerLiteral count: Int) { self = .restarts(count) }
    }

    /// The restarts that count against the intensity.
    ///
    /// With another rule than ``everyRestart``, OTP's, a child that has ended normally after a life that was long enough has its next life at
    /// once, and its earlier failures are forgotten.
    public enum Counted: String, Sendable, Hashable, Codable, CaseIterable {
        /// Every restart, after whatever end.
        case everyRestart = "every_restart"
        /// Restarts after failures: a failed start, and a later abnormal end.
        case failures
        /// Restarts after failed starts alone.
        case failedStarts = "failed_starts"
    }

    /// The number of restarts that are allowed within ``period``.
    public var intensity: Intensity?
    /// The length of the sliding window in which restarts are counted.
    public var period: Duration?
    /// The delays before restarts.
    public var backoff: Backoff?
    /// The restarts that count; nil means every one.
    public var counts: Counted?
    /// The time that a child must have been ready for its start to have succeeded; nil means no time.
    ///
    /// An earlier end is a failed start, whatever its reason.
    public var shortestLife: Duration?
    /// The exit codes after which the child isn't started again; nil means 78 and 125.
    public var finalExitCodes: Set<Int32>?
    /// The delay before the first restart in a row; nil means that of the backoff, none.
    public var firstDelay: Duration?
    /// The delay before each restart, after whatever end, instead of the backoff's; nil means the backoff.
    public var delay: Duration?

    /// Creates limits.
    ///
    /// The values aren't checked here, but when a child is started with them.
    public init(intensity: Intensity? = nil, period: Duration? = nil, backoff: Backoff? = nil) {
        self.intensity = intensity
        self.period = period
        self.backoff = backoff
    }
}

extension RestartLimits {
    /// Whether restarts of a child with these limits are counted separately from its siblings'.
    var hasOwnWindow: Bool { intensity != nil || period != nil }

    /// Checks that the numbers make sense.
    func validate() throws(SupervisionError) {
        if case .restarts(let count)? = intensity, count < 0 {
            throw SupervisionError(.invalidIntensity, "intensity is \(count); give 0 or more restarts, or unlimited")
        }
        if let period, period <= .zero {
            throw SupervisionError(.invalidPeriod, "period is \(period); give a time longer than 0 s")
        }
        for (name, value) in [("shortestLife", shortestLife), ("firstDelay", firstDelay), ("delay", delay)] {
            guard let value, value < .zero else { continue }
            throw SupervisionError(.invalidBackoff, "\(name) is \(value); give 0 s or more")
        }
        try backoff?.validate()
    }
}

/// The restarts of the last period: OTP's measure of "too many".
///
/// A restart exactly one period old still counts, as in OTP's supervisor.erl (`add_restart`).
struct RestartWindow: Sendable {
    private var times: [Duration] = []
    /// The index of the first time inside the window.
    ///
    /// Earlier ones are removed only when they are more than half, so that a restart costs O(1).
    private var head = 0

    /// Records a restart and returns whether the restarts within the period are within the intensity.
    mutating func admit(at now: Duration, intensity: Int, period: Duration) -> Bool {
        while head < times.count, times[head] < now - period {
            head += 1
        }
        if head > times.count / 2 {
            times.removeFirst(head)
            head = 0
        }
        times.append(now)
        return times.count - head <= intensity
    }
}

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
