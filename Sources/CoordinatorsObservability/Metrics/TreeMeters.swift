import ConcurrencySupport
import Coordinators
import CoreMetrics

/// The numbers of a tree in a backend of swift-metrics: a gauge or a counter for each sample, which is destroyed when its coordinator is gone.
final class TreeMeters: Sendable {
    private struct Key: Hashable {
        let name: String
        let labels: [String]
    }

    private enum Meter {
        case gauge(Gauge)
        /// A counter, and what it has been told.
        case counter(FloatingPointCounter, total: Double)

        func destroy() {
            switch self {
            case .gauge(let gauge): gauge.destroy()
            case .counter(let counter, _): counter.destroy()
            }
        }
    }

    private let given: (any MetricsFactory)?
    private let meters = Lock<[Key: Meter]>([:])

    /// - Parameter factory: The backend; `nil`: the one that the process has bootstrapped by the time of the first report.
    init(_ factory: (any MetricsFactory)?) { given = factory }

    /// Tells the backend the numbers of a moment.
    func report(_ numbers: TreeNumbers) {
        meters.withLock { meters in
            var present: Set<Key> = []
            func note(_ name: String, _ kind: TreeFamily.Kind, _ sample: TreeFamily.Sample) {
                let key = Key(name: name, labels: sample.labels.map(\.1))
                present.insert(key)
                meters[key] = self.updated(meters[key], name, kind, sample)
            }
            for family in TreeFamily.all {
                for sample in family.samples(numbers) { note(family.name, family.kind, sample) }
            }
            for (key, histogram) in numbers.asks?.histograms ?? [:] {
                let labels = AskFamily.labels(of: key)
                var total: UInt64 = 0
                for (bound, count) in zip(AskFamily.bounds.map { "\($0)" } + ["+Inf"], histogram.counts) {
                    total = total.addingSaturating(count)
                    note("\(AskFamily.name)_bucket", .counter, (labels + [("le", bound)], Double(total)))
                }
                note("\(AskFamily.name)_sum", .counter, (labels, Double(histogram.sum) / 1e9))
                note("\(AskFamily.name)_count", .counter, (labels, Double(total)))
            }
            for (key, meter) in meters where !present.contains(key) {
                meter.destroy()
                meters[key] = nil
            }
        }
    }

    /// Returns the meter of a sample, which has been told its value.
    private func updated(_ former: Meter?, _ name: String, _ kind: TreeFamily.Kind, _ sample: TreeFamily.Sample) -> Meter {
        let factory = given ?? MetricsSystem.factory
        switch (kind, former) {
        case (.gauge, .gauge(let gauge)?):
            gauge.record(sample.value)
            return .gauge(gauge)
        case (.gauge, _):
            let gauge = Gauge(label: name, dimensions: sample.labels, factory: factory)
            gauge.record(sample.value)
            return .gauge(gauge)
        case (.counter, .counter(let counter, let total)?):
            // What counts anew with the next life has begun at zero.
            let growth = sample.value - (sample.value < total ? 0 : total)
            if growth > 0 { counter.increment(by: growth) }
            return .counter(counter, total: sample.value)
        case (.counter, _):
            let counter = FloatingPointCounter(label: name, dimensions: sample.labels, factory: factory)
            if sample.value > 0 { counter.increment(by: sample.value) }
            return .counter(counter, total: sample.value)
        }
    }
}
