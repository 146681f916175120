import ConcurrencySupport
import Coordinators
import CoreMetrics
import WireProtocol

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
            func note(_ name: String, isGauge: Bool, _ sample: TreeFamily.Sample) {
                let key = Key(name: name, labels: sample.labels.map(\.1))
                present.insert(key)
                meters[key] = self.updated(meters[key], name, isGauge: isGauge, sample)
            }
            for family in TreeFamily.all {
                for sample in family.samples(numbers) { note(family.metric.name, isGauge: family.metric.kind == .gauge, sample) }
            }
            for (key, histogram) in numbers.asks?.histograms ?? [:] {
                let (sum, labels) = (Double(histogram.sum) / 1e9, AskFamily.labels(of: key))
                for sample in MetricFamily.asks.samples(bounds: AskFamily.bounds, counts: histogram.counts, sum: sum, labels) {
                    note(sample.name, isGauge: false, (sample.labels, sample.value))
                }
            }
            for (key, meter) in meters where !present.contains(key) {
                meter.destroy()
                meters[key] = nil
            }
        }
    }

    /// Returns the meter of a sample, which has been told its value.
    private func updated(_ former: Meter?, _ name: String, isGauge: Bool, _ sample: TreeFamily.Sample) -> Meter {
        let factory = given ?? MetricsSystem.factory
        switch (isGauge, former) {
        case (true, .gauge(let gauge)?):
            gauge.record(sample.value)
            return .gauge(gauge)
        case (true, _):
            let gauge = Gauge(label: name, dimensions: sample.labels, factory: factory)
            gauge.record(sample.value)
            return .gauge(gauge)
        case (false, .counter(let counter, let total)?):
            // What counts anew with the next life has begun at zero.
            let growth = sample.value - (sample.value < total ? 0 : total)
            if growth > 0 { counter.increment(by: growth) }
            return .counter(counter, total: sample.value)
        case (false, _):
            let counter = FloatingPointCounter(label: name, dimensions: sample.labels, factory: factory)
            if sample.value > 0 { counter.increment(by: sample.value) }
            return .counter(counter, total: sample.value)
        }
    }
}
