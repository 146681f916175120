import Glibc

/// A moment on the monotonic clock: steps of the wall clock don't move it.
@usableFromInline
package struct MonotonicTime: Sendable, Hashable, Comparable {
    package let nanoseconds: Int64

    @usableFromInline package static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package static let distantFuture = MonotonicTime(nanoseconds: .max)

    /// The time since the clock's origin, as the supervision machine counts.
    package var sinceOrigin: Duration { .nanoseconds(nanoseconds) }

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package init(sinceOrigin duration: Duration) { self.init(nanoseconds: duration.nanosecondsClamped) }

    @usableFromInline package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    package static func + (time: Self, duration: Duration) -> Self {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.nanosecondsClamped)
        return overflow ? MonotonicTime(nanoseconds: duration < .zero ? .min : .max) : MonotonicTime(nanoseconds: sum)
    }

    package static func - (left: Self, right: Self) -> Duration {
        let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(overflow ? (left < right ? .min : .max) : difference)
    }
}
