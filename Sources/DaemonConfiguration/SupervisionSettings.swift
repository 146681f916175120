/// How the daemon's root supervises its children.
///
/// Strategy, intensity and period are OTP's: https://www.erlang.org/doc/apps/stdlib/supervisor.html#module-supervision-principles
/// The backoff is added to them.
public struct SupervisionSettings: Codable, Hashable, Sendable {
    /// Which siblings are restarted together with a child that ended.
    public enum Strategy: String, CaseIterable, Codable, Hashable, Sendable {
        /// Only the child that ended.
        case oneForOne
        /// All of them.
        case oneForAll
        /// The child that ended and those that were started after it.
        case restForOne
    }

    /// The waits between restarts: the first is at once, then from `minimum` doubling to `maximum`.
    public struct Backoff: Codable, Hashable, Sendable {
        /// The wait before the second restart.
        public var minimum: Duration
        /// The longest wait; at least `minimum`.
        public var maximum: Duration
        /// After being ready for so long a child counts as healthy again, and its next restart is at once.
        public var resetAfter: Duration

        /// Creates a backoff.
        public init(minimum: Duration = .milliseconds(100), maximum: Duration = .seconds(30), resetAfter: Duration = .seconds(30)) {
            self.minimum = minimum
            self.maximum = maximum
            self.resetAfter = resetAfter
        }
    }

    /// Which siblings are restarted together.
    public var strategy: Strategy

    /// More restarts than this within `period` and the root gives the subtree up.
    ///
    /// At least 0.
    public var intensity: Int

    /// The window in which restarts are counted; longer than zero.
    public var period: Duration

    /// The waits between restarts.
    public var backoff: Backoff

    /// Creates settings.
    public init(strategy: Strategy = .oneForOne, intensity: Int = 5, period: Duration = .seconds(60), backoff: Backoff = Backoff()) {
        self.strategy = strategy
        self.intensity = intensity
        self.period = period
        self.backoff = backoff
    }
}
