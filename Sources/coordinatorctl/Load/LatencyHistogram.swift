/// How often each time was measured, with three digits of the time, in memory that doesn't grow with the number of times.
///
/// Below 2048 each value has a place of its own. Above, each power of two is divided into 1024 places of equal width, so that a place is never
/// wider than a thousandth of the values in it.
struct LatencyHistogram: Sendable {
    /// The places for each power of two.
    private static let resolution: UInt64 = 1024

    private var counts: [UInt64] = []
    /// The number of values.
    private(set) var count: UInt64 = 0
    /// The largest value; 0 when there is none.
    private(set) var maximum: UInt64 = 0

    /// Counts a value.
    mutating func record(_ value: UInt64) {
        let place = Self.place(of: value)
        if place >= counts.count { counts += repeatElement(0, count: place + 1 - counts.count) }
        counts[place] += 1
        count += 1
        maximum = max(maximum, value)
    }

    /// Returns the value that so many percent of all values don't exceed, or up to a thousandth more; 0 when there are no values.
    func value(atPercentile percentile: Double) -> UInt64 {
        let rank = max(1, (Double(count) * percentile / 100).rounded(.up))
        var below: UInt64 = 0
        for (place, count) in counts.enumerated() {
            below += count
            if Double(below) >= rank { return min(Self.largestValue(at: place), maximum) }
        }
        return maximum
    }

    private static func place(of value: UInt64) -> Int {
        let shift = max(0, resolution.leadingZeroBitCount - value.leadingZeroBitCount)
        return shift * Int(resolution) + Int(value >> UInt64(shift))
    }

    private static func largestValue(at place: Int) -> UInt64 {
        let shift = max(0, place / Int(resolution) - 1)
        return ((UInt64(place - shift * Int(resolution)) + 1) << UInt64(shift)) &- 1
    }
}
