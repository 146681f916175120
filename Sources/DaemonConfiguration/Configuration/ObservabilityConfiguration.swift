/// What the daemon records of its tree, and where it exports that.
public struct ObservabilityConfiguration: Codable, Hashable, Sendable {
    /// The places that telemetry is exported to, in OTLP/JSON.
    public enum Destination: Codable, Hashable, Sendable {
        /// This file, a request a line.
        case file(String)
        /// The receiver at this address, `http://HOST[:PORT][/PATH]`.
        case endpoint(String)
    }

    /// The export of spans.
    public struct Traces: Codable, Hashable, Sendable {
        /// The place that spans are exported to.
        public var destination: Destination
        /// The share of the traces that are recorded, from 0 to 1.
        public var sample: Double

        /// Creates the configuration of traces.
        public init(destination: Destination, sample: Double = 1) { (self.destination, self.sample) = (destination, sample) }
    }

    /// The numbers of the tree.
    public struct Metrics: Codable, Hashable, Sendable {
        /// The place that numbers are exported to; nil: operators and the console alone get them.
        public var destination: Destination?
        /// The time between two exports.
        public var interval = Duration.seconds(60)

        /// Creates a configuration with its defaults.
        public init() {}
    }

    /// The export of spans; nil: no spans are recorded.
    public var traces: Traces?
    /// The numbers; nil: the times of asks aren't counted.
    public var metrics: Metrics?

    /// Creates a configuration in which nothing is recorded.
    public init() {}
}
