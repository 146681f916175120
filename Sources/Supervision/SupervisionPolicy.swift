/// The rules by which a supervisor restarts children that fail.
///
/// The rules are OTP's supervisor flags (https://www.erlang.org/doc/apps/stdlib/supervisor.html#t:sup_flags/0) and a backoff, which OTP
/// doesn't have.
public struct SupervisionPolicy: Sendable, Hashable, Codable {
    /// The rule for which siblings are restarted together with a child that failed.
    public var strategy: Strategy
    /// The number of restarts that are allowed within ``period``; after one more the supervisor gives up.
    public var intensity: Int
    /// Whether the intensity also holds for children that don't count every restart, and have none of their own; nil means true.
    ///
    /// With false these children are never given up for failing too often.
    package var limitsFailures: Bool?
    /// The length of the sliding window in which restarts are counted.
    public var period: Duration
    /// The delays before restarts.
    public var backoff: Backoff
    /// The rule for when the supervisor ends because its significant children have ended.
    public var autoShutdown: AutoShutdown
    /// The rule for which children wait for which when the supervisor ends.
    public var stopOrder: StopOrder

    /// Creates a policy.
    ///
    /// The values aren't checked here; see ``validate()``.
    public init(
        _ strategy: Strategy = .oneForOne,
        intensity: Int = 5,
        period: Duration = .seconds(60),
        backoff: Backoff = Backoff(),
        autoShutdown: AutoShutdown = .never,
        stopOrder: StopOrder = .chainOfStart
    ) {
        self.strategy = strategy
        self.intensity = intensity
        self.period = period
        self.backoff = backoff
        self.autoShutdown = autoShutdown
        self.stopOrder = stopOrder
    }

    /// Checks that the numbers make sense together.
    ///
    /// - Throws: A ``SupervisionError`` that names the value to correct. An intensity of 0 is valid: the first failure is one too many.
    public func validate() throws(SupervisionError) {
        guard intensity >= 0 else {
            throw SupervisionError(.invalidIntensity, "intensity is \(intensity); give 0 or more restarts")
        }
        guard period > .zero else {
            throw SupervisionError(.invalidPeriod, "period is \(period); give a time longer than 0 s")
        }
        try backoff.validate()
    }
}
