import Glibc

/// A moment on the monotonic clock: steps of the wall clock don't move it.
struct MonotonicTime: Sendable, Hashable, Comparable {
    let nanoseconds: Int64

    static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static let distantFuture = MonotonicTime(nanoseconds: .max)

    /// Since the clock's origin, as the supervision machine counts.
    var sinceOrigin: Duration { .nanoseconds(nanoseconds) }

    init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    init(sinceOrigin duration: Duration) { self.init(nanoseconds: duration.nanosecondsClamped) }

    static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    static func + (time: Self, duration: Duration) -> Self {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.nanosecondsClamped)
        return overflow ? MonotonicTime(nanoseconds: duration < .zero ? .min : .max) : MonotonicTime(nanoseconds: sum)
    }

    static func - (left: Self, right: Self) -> Duration {
        let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(overflow ? (left < right ? .min : .max) : difference)
    }
}

extension Duration {
    /// In nanoseconds; what doesn't fit in 64 bits (292 years) is the largest.
    var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }

    /// In whole milliseconds, at least 0, at most what 32 bits hold less one.
    var millisecondsClamped: UInt32 { UInt32(clamping: min(max(nanosecondsClamped / 1_000_000, 0), Int64(UInt32.max) - 1)) }
}
