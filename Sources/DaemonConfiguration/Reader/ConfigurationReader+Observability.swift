import Processes

extension ConfigurationReader {
    /// The shortest time between two exports of metrics.
    private static let shortestInterval = Duration.milliseconds(100)

    mutating func observability(_ node: YAMLNode) -> ObservabilityConfiguration {
        var observability = ObservabilityConfiguration()
        guard let fields = self.fields(node, "`observability`", keys: ["traces", "metrics"]) else { return observability }
        if let node = fields["traces"] { observability.traces = traces(node) }
        if let node = fields["metrics"] { observability.metrics = metrics(node) }
        return observability
    }

    private mutating func traces(_ node: YAMLNode) -> ObservabilityConfiguration.Traces? {
        guard let fields = self.fields(node, "`traces`", keys: ["file", "endpoint", "sample"]) else { return nil }
        let sample = fields["sample"].flatMap { self.number($0, "`sample`", in: 0...1) }
        if fields["file"] == nil, fields["endpoint"] == nil, fields.excused.isDisjoint(with: ["file", "endpoint"]) {
            report(at: fields.mark, "`traces` has neither `file` nor `endpoint`; expected one of them")
        }
        guard let destination = destination(fields) else { return nil }
        return ObservabilityConfiguration.Traces(destination: destination, sample: sample ?? 1)
    }

    private mutating func metrics(_ node: YAMLNode) -> ObservabilityConfiguration.Metrics? {
        guard let fields = self.fields(node, "`metrics`", keys: ["file", "endpoint", "interval"]) else { return nil }
        var metrics = ObservabilityConfiguration.Metrics()
        metrics.destination = destination(fields)
        if let node = fields["interval"], let interval = duration(node, "`interval`") {
            if interval < Self.shortestInterval { report(at: node.mark, "`interval` is less than 100ms; expected a longer time") }
            metrics.interval = interval
        }
        return metrics
    }

    /// Reads the place that telemetry is exported to; nil if there is none.
    private mutating func destination(_ fields: Fields) -> ObservabilityConfiguration.Destination? {
        if let node = fields["file"] {
            if fields["endpoint"] != nil { report(at: node.mark, "\(fields.name) has both `file` and `endpoint`; expected one of them") }
            guard let file = path(node, "`file`", expected: "the path of a file") else { return nil }
            checkPlace(file, at: node)
            return .file(file)
        }
        guard let node = fields["endpoint"], let address = text(node, "`endpoint`", expected: "an address such as http://127.0.0.1:4318")
        else { return nil }
        do throws(HTTPEndpoint.InvalidAddress) {
            _ = try HTTPEndpoint(address, defaultPort: 4318)
            return .endpoint(address)
        } catch {
            report(at: node.mark, "`endpoint` is `\(address)`: \(error)")
            return nil
        }
    }
}
