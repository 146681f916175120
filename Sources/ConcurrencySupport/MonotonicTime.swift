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

/// The duration in whole numbers of a unit, as the kernel, nng and the wire count time.
extension Duration {
    /// The duration in nanoseconds; the largest or smallest value of 64 bits (292 years) when it doesn't fit.
    package var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in milliseconds, rounded toward zero; the largest or smallest value of 64 bits when it doesn't fit.
    package var wholeMilliseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000) }

    /// The duration in microseconds, rounded toward zero; the largest or smallest value of 64 bits when it doesn't fit.
    package var wholeMicroseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000) }

    /// The duration in whole milliseconds, at least 0 and at most one less than the largest value of 32 bits.
    package var millisecondsClamped: UInt32 { min(UInt32(clamping: wholeMilliseconds), .max - 1) }

    /// The duration in milliseconds, rounded up so that a wait of this length isn't too short; at least 0, at most `Int32.max`.
    package var millisecondsRoundedUp: Int32 {
        let (milliseconds, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
        return max(0, Int32(clamping: rest > 0 ? milliseconds + 1 : milliseconds))
    }
}

// The name of this file comes after those of files that use Glibc: before them, the release build with the static library finds the members of
// `timespec` in another module (Swift 6.3.1).

extension Duration {
    /// Reads a duration as it is written in configuration files and on the command line: a whole number and a unit, `250ms`, `5s`, `2m`, `1h`.
    ///
    /// Returns nil for any other text. A number without a unit is such a text: the unit of `timeout: 5` would be a guess.
    package init?(configurationText text: String) {
        let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        // Twelve digits of hours fit a Duration; a longer number is a typing error.
        guard (1...12).contains(digits.count), let count = Int64(String(text.prefix(digits.count))) else { return nil }
        switch text.dropFirst(digits.count) {
        case "ms": self = .milliseconds(count)
        case "s": self = .seconds(count)
        case "m": self = .seconds(count * 60)
        case "h": self = .seconds(count * 3600)
        default: return nil
        }
    }

    /// The shortest text that reads as this duration; a part of a millisecond is left out.
    package var configurationText: String {
        let (seconds, attoseconds) = components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        // A Duration holds more milliseconds than an Int64 does.
        if milliseconds != 0 { return "\(Int128(seconds) * 1000 + Int128(milliseconds))ms" }
        for (size, unit): (Int64, String) in [(3600, "h"), (60, "m")] where seconds != 0 && seconds.isMultiple(of: size) {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }
}

extension FixedWidthInteger {
    /// Returns the sum, or the nearest number that the type has.
    @inlinable
    package func addingSaturating(_ other: Self) -> Self {
        let (sum, isOverflow) = addingReportingOverflow(other)
        return isOverflow ? (other < 0 ? .min : .max) : sum
    }
}
