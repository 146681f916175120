/// How often and how soon one child may be restarted; what isn't said is as its supervisor's policy says.
///
/// A child that has an intensity or a period of its own is counted by itself: its restarts take none from its siblings, and theirs none
/// from it. OTP, which counts the restarts of all children together, has no such thing.
public struct RestartLimits: Sendable, Hashable, Codable {
    /// How many restarts there may be within the period.
    public enum Intensity: Sendable, Hashable, Codable, ExpressibleByIntegerLiteral {
        /// So many; with one more the child is given up.
        case restarts(Int)
        /// Any number: the child is never given up for failing too often.
        case unlimited

        /// So many restarts.
        public init(integerLiteral count: Int) { self = .restarts(count) }
    }

    /// How many restarts there may be within ``period``.
    public var intensity: Intensity?
    /// The length of the sliding window in which restarts are counted.
    public var period: Duration?
    /// How long restarts are held back.
    public var backoff: Backoff?

    /// Makes limits; nothing is checked here, see ``ChildSpecification/validate(under:)``.
    public init(intensity: Intensity? = nil, period: Duration? = nil, backoff: Backoff? = nil) {
        self.intensity = intensity
        self.period = period
        self.backoff = backoff
    }
}

extension RestartLimits {
    /// Whether restarts of a child with these limits are counted by themselves.
    var hasOwnWindow: Bool { intensity != nil || period != nil }

    /// Checks that the numbers make sense.
    func validate() throws(SupervisionError) {
        if case .restarts(let count)? = intensity, count < 0 {
            throw SupervisionError(.invalidIntensity, "intensity is \(count); give 0 or more restarts, or unlimited")
        }
        if let period, period <= .zero {
            throw SupervisionError(.invalidPeriod, "period is \(period); give a time longer than 0 s")
        }
        try backoff?.validate()
    }
}
