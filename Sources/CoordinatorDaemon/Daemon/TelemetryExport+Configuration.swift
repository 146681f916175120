import CoordinatorsObservability
import DaemonConfiguration

extension TelemetryExport {
    /// The export that a configuration asks for.
    init(_ configuration: ObservabilityConfiguration) {
        self.init(service: "coordinatord")
        if let traces = configuration.traces, let destination = TelemetryDestination(traces.destination) {
            self.traces = Traces(to: destination, sample: traces.sample)
        }
        guard let metrics = configuration.metrics else { return }
        measuresAsks = true
        if let destination = metrics.destination.flatMap({ TelemetryDestination($0) }) {
            self.metrics = Metrics(to: destination, interval: metrics.interval)
        }
    }
}

extension TelemetryDestination {
    /// The destination; nil for an address that the reader of the configuration would have refused.
    fileprivate init?(_ destination: ObservabilityConfiguration.Destination) {
        switch destination {
        case .file(let path): self = .file(path)
        case .endpoint(let address):
            guard let endpoint = try? TelemetryDestination.endpoint(address) else { return nil }
            self = endpoint
        }
    }
}
