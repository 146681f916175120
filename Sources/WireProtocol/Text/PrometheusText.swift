/// Metrics in the text format of Prometheus.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
package struct PrometheusText: Sendable {
    /// The media type of the format.
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""

    package init() {}

    /// Begins a family.
    package mutating func begin(_ family: MetricFamily) {
        let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        text += "# HELP \(family.name) \(help)\n# TYPE \(family.name) \(family.kind.rawValue)\n"
    }

    /// Adds a sample.
    package mutating func add(_ family: MetricFamily, _ value: Double, _ labels: [(String, String)] = []) {
        add(family.name, value, labels)
    }

    private mutating func add(_ name: String, _ value: Double, _ labels: [(String, String)]) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",") + "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Adds the samples of a histogram of seconds; see ``MetricFamily/samples(bounds:counts:sum:_:)``.
    package mutating func addHistogram(
        _ family: MetricFamily,
        bounds: [Double],
        counts: [UInt64],
        sum: Double,
        _ labels: [(String, String)]
    ) {
        for sample in family.samples(bounds: bounds, counts: counts, sum: sum, labels) { add(sample.name, sample.value, sample.labels) }
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    package static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        if value == -.infinity { return "-Inf" }
        if value.isNaN { return "NaN" }
        return value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}
