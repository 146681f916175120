package import ConcurrencySupport

/// The clock that a tree of coordinators lives by: the machine's monotonic clock, or in a test the time that the test moves.
///
/// A coordinator that sleeps by this clock, and not by `Task.sleep(for:)`, can be tested without waiting:
///
///     try await context.clock.sleep(for: .seconds(30))
public struct CoordinatorClock: Clock {
    /// A moment on the clock.
    public struct Instant: InstantProtocol, Hashable, Sendable {
        let time: MonotonicTime

        /// Returns the moment that comes a time later.
        public func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
        /// Returns the time from this moment to another.
        public func duration(to other: Instant) -> Duration { other.time - time }
        /// Returns whether a moment comes before another.
        public static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    private let time: TimeSource

    package init(_ time: TimeSource) { self.time = time }

    /// The present moment.
    public var now: Instant { Instant(time: time.now) }

    /// The time by which a sleep may be longer than was asked for.
    public var minimumResolution: Duration { .milliseconds(5) }

    /// Waits until a moment.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await time.sleep(until: deadline.time)
    }
}

extension CoordinatorContext {
    /// The clock that the tree lives by: that of the timers, deadlines and restarts.
    public var clock: CoordinatorClock { CoordinatorClock(node.runtime.time) }
}
