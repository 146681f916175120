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

extension SupervisionPolicy {
    /// A rule for which siblings are restarted together with a child that has failed.
    ///
    /// The words and the rules are OTP's: https://www.erlang.org/doc/system/sup_princ.html#strategy
    public enum Strategy: String, Sendable, Codable, CaseIterable {
        /// Only the child that failed is restarted.
        case oneForOne
        /// All children are stopped in reverse start order, then started in start order.
        ///
        /// This includes children that were stopped before, by themselves or by a request. Only temporary children, and those that failed for
        /// good, are not started.
        case oneForAll
        /// The child that failed and those that were started after it are restarted, otherwise as with ``oneForAll``.
        case restForOne
    }
}

extension SupervisionPolicy {
    /// The error of ``validate()``; nil if the policy makes sense.
    package var validationError: SupervisionError? {
        do throws(SupervisionError) {
            try validate()
            return nil
        } catch {
            return error
        }
    }
}

extension SupervisionPolicy {
    /// A rule for when a supervisor ends by itself because its significant children have ended.
    ///
    /// The words and the rules are OTP's: https://www.erlang.org/doc/system/sup_princ.html#automatic-shutdown. A significant child counts
    /// when it has ended by itself and isn't restarted: a transient one after a normal exit, a temporary one after any. A child that was
    /// stopped, by a request or for a sibling's sake, doesn't count. An end that counts ends the supervisor in an orderly way: its children
    /// are stopped in their ``SupervisionPolicy/StopOrder``, and its own exit reason is ``ExitReason/shutdown``.
    public enum AutoShutdown: String, Sendable, Hashable, Codable, CaseIterable {
        /// The supervisor doesn't end by itself, and refuses significant children.
        case never
        /// The supervisor ends after the first end that counts.
        case anySignificant
        /// The supervisor ends after an end that counts when no significant child is left alive or about to be started.
        case allSignificant
    }
}

extension SupervisionPolicy {
    /// A rule for which children wait for which when their supervisor ends.
    ///
    /// Children that are a *chain* end one after the other, the one that was started last first, as all children of OTP's supervisor do: a
    /// child can rely on those that were started before it until its own end. Children outside of the chain end together, before the chain
    /// begins, as those of Elixir's `DynamicSupervisor` do: a thousand need as long as the slowest. Restarts of siblings always keep the
    /// start order, and its reverse.
    public enum StopOrder: String, Sendable, Codable, CaseIterable {
        /// The children that the `start` hook has started are a chain, and those that were started later are outside of it.
        case chainOfStart
        /// All children are a chain.
        case chain
    }
}
