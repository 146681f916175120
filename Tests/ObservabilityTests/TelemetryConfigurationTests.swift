import ConcurrencySupport
import Coordinators
import Fixtures
import TestSupport
import Testing

@Suite("What workers send up", .timeLimit(minutes: 2))
struct TelemetryConfigurationTests {
    @Test(
        "A worker sends spans and the times of asks up while the root's process wants them, and none otherwise",
        arguments: [nil, 0, 1] as [Double?],
        [false, true]
    )
    func configuration(sampling: Double?, measures: Bool) async throws {
        let recorder = Recorder(TelemetryConfiguration(sampling: sampling, measures: measures))
        var options = RelayTree.options()
        options.exporter = recorder
        try await RelayTree.with(depth: 2, options: options) { runtime in
            for _ in 0..<50 { _ = try await runtime.ask(Relay.Processes(), at: .root, timeout: .patient(.seconds(30))) }
        }
        // At their ends the workers have sent all that they had.
        let (spans, measured) = recorder.received.withLock { $0 }
        let workers: Set<CoordinatorPath> = [RelayTree.path(1), RelayTree.path(2)]
        #expect(workers.isSubset(of: spans) == (sampling == 1), "\(spans)")
        #expect(workers.map(\.description).allSatisfy(measured.contains) == measures, "\(measured)")
        if sampling != 1 { #expect(spans.isEmpty) }
        if !measures { #expect(measured.isEmpty) }
    }

    @Test(
        "A share beyond its bounds is the nearest within them, and one that is no number is 0",
        arguments: [(.nan, 0), (-.infinity, 0), (-1, 0), (0, 0), (0.5, 0.5), (1, 1), (2, 1), (.infinity, 1)] as [(Double, Double)]
    )
    func share(given: Double, taken: Double) {
        #expect(TelemetryConfiguration(sampling: given, measures: false).sampling == taken)
    }
}

/// An exporter that notes the paths of what it gets, with or without having wished for it.
private final class Recorder: TelemetryExporter {
    let configuration: TelemetryConfiguration
    let received = Lock<(spans: Set<CoordinatorPath>, measured: Set<String>)>(([], []))

    init(_ configuration: TelemetryConfiguration) { self.configuration = configuration }

    func export(_ spans: [MessageSpan], missed: UInt64) { received.withLock { $0.spans.formUnion(spans.map(\.path)) } }

    func run(_ source: TelemetrySource) async {}

    func flush(_ source: TelemetrySource) async {
        let measured = source.asks().histograms.keys.map(\.path)
        received.withLock { $0.measured.formUnion(measured) }
    }
}
