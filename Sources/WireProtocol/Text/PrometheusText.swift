/// Metrics in the text format of Prometheus.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
package struct PrometheusText: Sendable {
    /// The media type of the format.
    package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

    package private(set) var text = ""

    package init() {}

    /// Begins a family.
    package mutating func begin(_ name: String, _ kind: String, help: String) {
        text += "# HELP \(name) \(help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n"))\n# TYPE \(name) \(kind)\n"
    }

    /// Adds a sample.
    package mutating func add(_ name: String, _ value: Double, _ labels: [(String, String)] = []) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",") + "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Adds the samples of a histogram of seconds.
    ///
    /// - Parameters:
    ///   - bounds: The upper bounds of the buckets but the last one, which has none.
    ///   - counts: The number of values in each bucket.
    package mutating func addHistogram(_ name: String, bounds: [Double], counts: [UInt64], sum: Double, _ labels: [(String, String)]) {
        guard counts.count == bounds.count + 1 else { return }
        var total: UInt64 = 0
        for (bound, count) in zip(bounds + [.infinity], counts) {
            total = total.addingReportingOverflow(count).overflow ? .max : total + count
            add("\(name)_bucket", Double(total), labels + [("le", Self.number(bound))])
        }
        add("\(name)_sum", sum, labels)
        add("\(name)_count", Double(total), labels)
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
