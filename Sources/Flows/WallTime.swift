/// A moment by the wall clock, which goes on while a process, or its machine, is down.
///
/// The clock of a machine is set now and then: a moment may come again, or be left out.
public struct WallTime: Sendable, Hashable, Comparable, Codable {
    /// The nanoseconds since 1970-01-01 00:00 UTC, without leap seconds.
    public let nanoseconds: Int64

    /// Creates the moment at so many nanoseconds since 1970-01-01 00:00 UTC.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// A moment that is always over.
    package static let distantPast = WallTime(nanoseconds: .min)
    /// A moment that never comes.
    package static let distantFuture = WallTime(nanoseconds: .max)

    /// Reads the nanoseconds.
    public init(from decoder: any Decoder) throws {
        self.init(nanoseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    /// Writes the nanoseconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(nanoseconds)
    }

    /// Returns the end of a pause, which is over if that is further away than the longest one takes: the clock has been set back since.
    package func endingPause(at now: WallTime, longest: Duration) -> WallTime { self - now > longest ? now : self }

    /// Returns whether a moment comes before another.
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the moment that comes a time later; the last one that can be told, if that is too late.
    public static func + (time: Self, duration: Duration) -> Self {
        let (seconds, attoseconds) = duration.components
        let (nanoseconds, isTooMuch) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (whole, overflows) = time.nanoseconds.addingReportingOverflow(nanoseconds)
        let (sum, overflowsAtLast) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        if isTooMuch || overflows || overflowsAtLast { return WallTime(nanoseconds: duration < .zero ? .min : .max) }
        return WallTime(nanoseconds: sum)
    }

    /// Returns the time from one moment to another.
    public static func - (left: Self, right: Self) -> Duration {
        let (difference, overflows) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(overflows ? (left < right ? .min : .max) : difference)
    }
}
