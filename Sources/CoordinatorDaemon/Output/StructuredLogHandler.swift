import Control
import Logging
import WireProtocol

/// The formats of the daemon's log.
public enum LogFormat: String, CaseIterable, Sendable {
    /// Lines for people; with priorities when systemd's journal reads them.
    case human
    /// A JSON object for each entry, on a line of its own.
    case json
}

/// A handler that writes each entry as one line: a JSON object, or text with a priority for systemd's journal.
struct StructuredLogHandler: LogHandler {
    enum Format {
        case json, journal
    }

    private let label: String
    private let format: Format
    private let write: @Sendable ([UInt8]) -> Void
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, format: Format, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.label = label
        self.format = format
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        let line =
            switch format {
            case .json: json(event, all)
            case .journal: text(event, all)
            }
        write(Array(line.utf8) + [UInt8(ascii: "\n")])
    }

    private func json(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        var fields: [String: JSONValue] = [
            "time": .string(Timestamp.now), "level": .string(event.level.rawValue), "label": .string(label),
            "message": .string("\(event.message)"), "source": .string(event.source),
        ]
        if let error = event.error { fields["error"] = .string("\(error)") }
        if !metadata.isEmpty { fields["metadata"] = Self.json(.dictionary(metadata)) }
        return (try? ControlJSON.bytes(of: JSONValue.object(fields))).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private static func json(_ value: Logger.MetadataValue) -> JSONValue {
        switch value {
        case .string(let text): .string(text)
        case .stringConvertible(let value): .string("\(value)")
        case .dictionary(let values): .object(values.mapValues { json($0) })
        case .array(let values): .array(values.map { json($0) })
        }
    }

    private func text(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let fields = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let error = event.error.map { " error=\($0)" } ?? ""
        // The journal takes each line for an entry of its own.
        let text = "\(event.message)\(fields)\(error)".map { $0.isNewline ? " " : String($0) }.joined()
        return "<\(event.level.priority)>\(label): \(text)"
    }
}

extension Logger.Level {
    /// The level as syslog(3) numbers it.
    var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
