public import Coordinators
import WireProtocol

extension CoordinatorRuntime {
    /// The media type of ``prometheusText()``, for the header `Content-Type`.
    public static var prometheusMediaType: String { PrometheusText.mediaType }

    /// Returns the metrics of the whole tree in the text format of Prometheus, for a route such as `/metrics`.
    ///
    ///     router.get("/metrics") { _, _ in await runtime.prometheusText() }
    ///
    /// It has what the console's `/metrics` has, under the same names: the times of asks by path and message as histograms, restarts, states,
    /// mailboxes, dead letters, and the processor time, memory and descriptors of each process. Workers need nothing for it. The first call has
    /// the times of asks be counted from then on, unless a ``TelemetryExport`` of metrics counts them already.
    ///
    /// The first 500 coordinators in tree order have numbers of their own, and so have 500 pairs of a path and a message, of all that there were;
    /// the other asks are counted together, as `(other)`.
    public func prometheusText() async -> String {
        countAsks()
        let numbers = TreeNumbers(try? await snapshot(), asks: askDurations, deadLetters: deadLetters.count)
        return PrometheusText(numbers).text
    }
}

extension PrometheusText {
    init(_ numbers: TreeNumbers) {
        self.init()
        for family in TreeFamily.all {
            begin(family.metric)
            for sample in family.samples(numbers) { add(family.metric, sample.value, sample.labels) }
        }
        guard let asks = numbers.asks else { return }
        begin(.asks)
        for (key, histogram) in asks.histograms.sorted(by: { ($0.key.path, $0.key.message) < ($1.key.path, $1.key.message) }) {
            addHistogram(
                .asks,
                bounds: AskFamily.bounds,
                counts: histogram.counts,
                sum: Double(histogram.sum) / 1e9,
                AskFamily.labels(of: key)
            )
        }
    }
}
