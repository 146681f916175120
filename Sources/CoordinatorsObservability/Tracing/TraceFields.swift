import Coordinators
import Instrumentation

/// The fields in which a tracer carries a context: those of a message have room for one text.
///
/// A lone W3C `traceparent` is that text itself. Other fields follow it, a line each, `name: value`: its `tracestate`, or what a backend has of
/// its own.
struct TraceFields: Injector, Extractor {
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key.lowercased()] = value }

    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
}

extension TraceContext {
    /// The longest text that a message carries; further fields are left out.
    private static let limit = 1_024

    /// Creates the text of fields; nil if there are none.
    init?(fields: [String: String]) {
        var text = fields["traceparent"] ?? ""
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) where name != "traceparent" {
            let line = "\n\(name): \(value)"
            // A line can't be told from two.
            if line.dropFirst().contains(where: \.isNewline) || text.utf8.count + line.utf8.count > Self.limit { continue }
            text += line
        }
        if text.isEmpty { return nil }
        self.init(traceparent: text)
    }

    /// The fields of the text.
    var fields: [String: String] {
        var fields: [String: String] = [:]
        for (index, line) in traceparent.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if index == 0 {
                if !line.isEmpty { fields["traceparent"] = String(line) }
            } else if let colon = line.firstIndex(of: ":") {
                fields[String(line[..<colon])] = String(line[colon...].dropFirst(2))
            }
        }
        return fields
    }
}
