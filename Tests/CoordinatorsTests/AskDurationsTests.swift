import ConcurrencySupport
import Testing
import WireProtocol

@testable import Coordinators

@Suite("The times of asks") struct AskDurationsTests {
    private func durations(_ paths: Int, hasFailed: Bool = false) -> AskDurations {
        var durations = AskDurations()
        for number in 0..<paths {
            durations.count(AskDurations.Key(path: "/\(number)", message: "M", hasFailed: hasFailed), .milliseconds(1))
        }
        return durations
    }

    @Test(
        "A duration is in the first bucket whose bound it doesn't exceed",
        arguments: [
            (Duration.zero, 0), (.microseconds(50), 0), (.nanoseconds(50_001), 1), (.milliseconds(1), 4), (.seconds(10), 16),
            (.nanoseconds(10_000_000_001), 17), (.seconds(3600), 17),
        ]
    )
    func buckets(duration: Duration, bucket: Int) {
        var histogram = Histogram()
        histogram.count(duration)
        #expect(histogram.counts.firstIndex(of: 1) == bucket)
        #expect(histogram.count == 1 && histogram.sum == UInt64(duration.nanosecondsClamped))
    }

    @Test("Beyond the limit of keys asks are counted together, the failed ones apart, and none is lost on its way up")
    func limit() throws {
        var durations = durations(AskDurations.limit + 7)
        durations.add(self.durations(AskDurations.limit + 7, hasFailed: true))
        #expect(durations.histograms.count == AskDurations.limit + 2)
        #expect(durations.histograms[.other(hasFailed: false)]?.count == 7)
        #expect(durations.histograms[.other(hasFailed: true)]?.count == UInt64(AskDurations.limit) + 7)
        for codec in [PayloadCodec.json, .compact] {
            let payload = try PayloadCoder.encode(durations, as: codec)
            #expect(try PayloadCoder.decode(AskDurations.self, from: payload, codec: codec) == durations)
        }
    }

    @Test("Times of all buckets are added, bucket by bucket")
    func added() {
        var histogram = Histogram()
        for bound in Histogram.bounds { histogram.count(bound) }
        histogram.count(.seconds(11))
        #expect(histogram.counts.allSatisfy { $0 == 1 })
        let other = histogram
        histogram.add(other)
        #expect(histogram.counts.allSatisfy { $0 == 2 } && histogram.count == 36 && histogram.sum == 2 * other.sum)
    }

    @Test("Names of another process that are too long for keys are counted with the others")
    func longNames() {
        var durations = AskDurations()
        durations.count(AskDurations.Key(path: "/" + String(repeating: "a", count: 600), message: "M", hasFailed: false), .milliseconds(1))
        #expect(Array(durations.histograms.keys) == [.other(hasFailed: false)])
    }
}
