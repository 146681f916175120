import ConcurrencySupport

/// The time for which this machine has run: it stands still while the machine does, because others take its processors for a while.
///
/// For upper bounds. What the process under test does wrong counts, as its threads wait and that of this clock runs.
public enum MachineClock {
    /// A time since the clock was first looked at.
    public struct Instant: Sendable {
        fileprivate let counted: Duration

        /// The present time.
        public static var now: Instant { MachineClock.now }

        public static func - (later: Instant, earlier: Instant) -> Duration { later.counted - earlier.counted }
    }

    /// The longest step that counts: a thread that sleeps for less gets a processor within this time unless the machine stands still.
    private static let longestStep = Duration.milliseconds(250)

    private static let state: Lock<(counted: Duration, last: ContinuousClock.Instant)> = {
        let hasStarted = DetachedThread.run {
            while true {
                realTimeOfThread(.milliseconds(20), because: "it's the clock")
                _ = now
            }
        }
        precondition(hasStarted, "there is no thread for the clock")
        return Lock((.zero, .now))
    }()

    /// The present time.
    public static var now: Instant {
        state.withLock { state in
            let now = ContinuousClock.now
            state.counted += min(now - state.last, longestStep)
            state.last = now
            return Instant(counted: state.counted)
        }
    }
}
