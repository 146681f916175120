import Control
import Logging
import WireProtocol

/// The formats of the daemon's log.
public enum LogFormat: String, CaseIterable, Sendable {
    /// Lines for people; with priorities when systemd's journal reads them.
    case human
    /// A JSON object for each entry, on a line of its own.
    case json

    /// Returns the lines of a problem that ends the daemon before it has a log, each in this format.
    public func lines(of problem: String) -> String {
        guard self == .json else { return problem + "\n" }
        let handler = StructuredLogHandler(label: "coordinatord", format: .json) { _ in }
        return problem.split(separator: "\n").map { line in
            let event = LogEvent(
                level: .critical,
                message: "\(line)",
                metadata: nil,
                source: "CoordinatorDaemon",
                file: #fileID,
                function: #function,
                line: #line
            )
            return handler.line(event, [:])
        }.joined()
    }

    /// Returns the line that takes the place of dropped bytes.
    func gap(_ text: String) -> String { self == .json ? lines(of: text) : "[coordinatord] (\(text))\n" }
}

/// A handler that writes each entry as one line: a JSON object, or a text in which the message comes first, for people with the time before
/// it, and for systemd's journal with a priority.
struct StructuredLogHandler: LogHandler {
    enum Format {
        case json, journal, human
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
        write(Array(line(event, all).utf8))
    }

    fileprivate func line(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        switch format {
        case .json: json(event, metadata) + "\n"
        case .journal: "<\(event.level.priority)>\(text(event, metadata))\n"
        case .human: "\(Timestamp.now) \(event.level) \(text(event, metadata))\n"
        }
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
        case .stringConvertible(let value): (value as? any FixedWidthInteger).map { .integer(Int64(clamping: $0)) } ?? .string("\(value)")
        case .dictionary(let values): .object(values.mapValues { json($0) })
        case .array(let values): .array(values.map { json($0) })
        }
    }

    private func text(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let fields = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let error = event.error.map { " error=\($0)" } ?? ""
        // The journal takes each line for an entry of its own.
        let text = "\(event.message)\(fields)\(error)".map { $0.isNewline ? " " : String($0) }.joined()
        // What processes say of themselves is in it too: reasons, names of commands.
        return "\(label): \(PrintableText.line(text))"
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
