import TestSupport
import Testing

@testable import coordinatorctl

@Suite("The histogram of coordinatorctl bench")
struct LatencyHistogramTests {
    private static let percentiles = [0, 10, 50, 90, 99, 99.9, 100]

    @Test("Percentiles are those of the sorted values, at most a thousandth more", arguments: 0..<20)
    func percentiles(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var histogram = LatencyHistogram()
        // Of all magnitudes, to two hours in microseconds.
        let values = (0..<1_000).map { _ in
            let magnitude = UInt64.random(in: 0...32, using: &generator)
            return UInt64.random(in: 0...(7_200_000_000 >> magnitude), using: &generator)
        }
        for value in values { histogram.record(value) }
        let sorted = values.sorted()
        #expect(histogram.count == 1_000 && histogram.maximum == sorted.last)
        for percentile in Self.percentiles {
            let exact = sorted[max(1, Int(percentile * 10)) - 1]
            let found = histogram.value(atPercentile: percentile)
            #expect(found >= exact && found <= exact + exact / 1_000, "\(percentile) percent, seed \(seed)")
        }
    }

    @Test("Each value at the border of two places is in its own one", arguments: 0..<64)
    func borders(_ bit: UInt64) {
        for value in [(UInt64(1) << bit) - 1, UInt64(1) << bit, UInt64.max >> bit] {
            // A larger value besides, so that the maximum doesn't bound what is found.
            guard value < 1 << 40 else { continue }
            var histogram = LatencyHistogram()
            histogram.record(value)
            histogram.record(1 << 41)
            let found = histogram.value(atPercentile: 50)
            #expect(found >= value && found <= value + value / 1_000, "\(value)")
        }
    }

    @Test("Without values all percentiles are zero")
    func empty() {
        for percentile in Self.percentiles { #expect(LatencyHistogram().value(atPercentile: percentile) == 0) }
    }
}
