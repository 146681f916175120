import ConcurrencySupport
public import Coordinators
public import CoreMetrics
import Glibc
public import Logging
import WireProtocol

/// The export of a whole tree's spans and numbers, in OpenTelemetry's OTLP/JSON, by the root's process.
///
///     var options = CoordinatorRuntime.Options()
///     var export = TelemetryExport(service: "shop")
///     export.traces = .init(to: try .endpoint("http://127.0.0.1:4318"), sample: 0.1)
///     export.metrics = .init(to: .file("/var/log/shop/metrics.jsonl"))
///     options.export(export)
///
/// The workers need nothing of their own for this: each process records what the root's wants, and sends it up the tree. An ask is one trace
/// with a span where it's sent and one in each row that answers or intercepts it, in every process that it passes; a row that only forwards
/// has none.
///
/// Nothing waits for the export: a thread of its own writes or sends, at most 8,192 spans wait, and those that there is no room for, or that the
/// destination doesn't take, are lost and counted as `coordinator.spans.lost`. The end of the tree waits a second for the last ones.
public struct TelemetryExport: Sendable {
    /// The export of spans.
    public struct Traces: Sendable, Hashable {
        /// The destination.
        public var destination: TelemetryDestination
        /// The share of the traces that begin in the tree which are recorded, from 0 to 1.
        ///
        /// A message that has come with a trace, from outside, follows that trace's own decision.
        public var sample: Double

        /// Creates an export of spans.
        ///
        /// - Parameters:
        ///   - destination: The destination.
        ///   - sample: The share of the traces that are recorded, from 0 to 1.
        public init(to destination: TelemetryDestination, sample: Double = 1) { (self.destination, self.sample) = (destination, sample) }
    }

    /// The export of numbers.
    public struct Metrics: Sendable, Hashable {
        /// The destination.
        public var destination: TelemetryDestination
        /// The time between two exports.
        public var interval: Duration

        /// Creates an export of numbers.
        ///
        /// - Parameters:
        ///   - destination: The destination.
        ///   - interval: The time between two exports, at least a tenth of a second.
        public init(to destination: TelemetryDestination, interval: Duration = .seconds(60)) {
            (self.destination, self.interval) = (destination, interval)
        }
    }

    /// The report of numbers to swift-metrics in the root's process: workers need no backend of their own.
    public struct Backend: Sendable {
        /// The backend; `nil`: the one that the process has bootstrapped.
        public var factory: (any MetricsFactory)?
        /// The time between two reports.
        public var interval: Duration

        /// Creates a report of numbers to swift-metrics.
        ///
        /// - Parameters:
        ///   - factory: The backend; `nil`: the one that the process has bootstrapped by the time of the first report.
        ///   - interval: The time between two reports, at least a tenth of a second.
        public init(factory: (any MetricsFactory)? = nil, interval: Duration = .seconds(10)) {
            (self.factory, self.interval) = (factory, interval)
        }
    }

    /// The name of the service, `service.name`.
    public var service: String
    /// The export of spans; `nil`: there is none, and no spans are recorded.
    public var traces: Traces?
    /// The export of numbers: the times of asks by path and message, restarts, states, dead letters; `nil`: there is none.
    public var metrics: Metrics?
    /// The report of the tree's numbers to swift-metrics, under the names of `CoordinatorRuntime.prometheusText()`; `nil`: there is none.
    ///
    /// The times of asks are counters too, one for each bucket, since they are counted where the asks are handled.
    public var backend: Backend?
    /// Whether the times of asks are counted even without an export.
    package var measuresAsks = false

    /// Creates an export of nothing yet.
    ///
    /// - Parameter service: The name of the service.
    public init(service: String) { self.service = service }
}

extension CoordinatorRuntime.Options {
    /// Has the root's process export the whole tree's telemetry; the options of a worker have no effect.
    ///
    /// - Parameters:
    ///   - export: What is exported, and where.
    ///   - logger: The logger that is told when an export fails; `nil`: that of the options by then.
    public mutating func export(_ export: TelemetryExport, logger: Logger? = nil) {
        exporter = TreeExporter(export, logger: logger ?? self.logger)
    }
}

/// What exports the telemetry of a tree.
private final class TreeExporter: TelemetryExporter {
    let configuration: TelemetryConfiguration
    private let export: TelemetryExport
    private let resource: OTLPResource
    private let spans: ExportQueue<MessageSpan>?
    private let numbers: ExportQueue<JSONValue>?
    private let meters: TreeMeters?
    private let start = TreeExporter.now
    /// The latest description of the tree, of which there's nothing left at the end.
    private let latest = Lock<CoordinatorSnapshot?>(nil)
    private let beginnings = Lock(RestartBeginnings())

    init(_ export: TelemetryExport, logger: Logger) {
        self.export = export
        let resource = OTLPResource(service: export.service)
        self.resource = resource
        let measures = export.metrics != nil || export.backend != nil || export.measuresAsks
        configuration = TelemetryConfiguration(sampling: export.traces?.sample, measures: measures)
        meters = export.backend.map { TreeMeters($0.factory) }
        func trouble(_ signal: String) -> Trouble<String> {
            Trouble { change in
                switch change {
                case .began(let error):
                    logger.warning("telemetry can't be exported", metadata: ["signal": "\(signal)", "error": "\(error)"])
                case .ended(_, let failures, _):
                    logger.notice("telemetry can be exported again", metadata: ["signal": "\(signal)", "failures": "\(failures)"])
                }
            }
        }
        spans = export.traces.map { traces in
            ExportQueue(
                to: traces.destination,
                defaultPath: "/v1/traces",
                capacity: 8_192,
                batch: 512,
                delay: .milliseconds(200),
                trouble: trouble("traces")
            ) { OTLPTraces.request($0, resource) }
        }
        numbers = export.metrics.map { metrics in
            // The numbers are cumulative: of those that a destination is too slow for, the latest would do.
            ExportQueue(
                to: metrics.destination,
                defaultPath: "/v1/metrics",
                capacity: 4,
                batch: 1,
                delay: .zero,
                trouble: trouble("metrics")
            ) {
                $0[0]
            }
        }
    }

    func export(_ spans: [MessageSpan], missed: UInt64) { self.spans?.append(spans, lost: missed) }

    func run(_ source: TelemetrySource) async {
        await withTaskGroup { group in
            if let metrics = export.metrics { group.addTask { await self.repeats(every: metrics.interval, source) { self.add(source) } } }
            if let backend = export.backend {
                group.addTask { await self.repeats(every: backend.interval, source) { self.report(source) } }
            }
        }
    }

    /// Describes the tree and does something with its numbers, from time to time until it's cancelled.
    private func repeats(every interval: Duration, _ source: TelemetrySource, _ body: () -> Void) async {
        while !Task.isCancelled {
            let snapshot = await source.snapshot()
            latest.withLock { $0 = snapshot ?? $0 }
            body()
            do { try await Task.sleep(for: max(interval, .milliseconds(100))) } catch { return }
        }
    }

    func flush(_ source: TelemetrySource) async {
        add(source)
        report(source)
        await withTaskGroup { [spans, numbers] group in
            group.addTask { await spans?.flush() }
            group.addTask { await numbers?.flush() }
        }
    }

    private func report(_ source: TelemetrySource) {
        meters?.report(TreeNumbers(latest.withLock { $0 }, asks: source.asks(), deadLetters: source.deadLetters()))
    }

    private func add(_ source: TelemetrySource) {
        guard let numbers else { return }
        let present = OTLPMetrics.Numbers(
            asks: source.asks(),
            deadLetters: source.deadLetters(),
            snapshot: latest.withLock { $0 },
            lostSpans: spans?.lost ?? 0
        )
        let request = beginnings.withLock {
            OTLPMetrics.request(present, resource, processID: getpid(), since: start, at: Self.now, &$0)
        }
        numbers.append([request])
    }

    /// The time in nanoseconds since 1970.
    private static var now: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }
}
