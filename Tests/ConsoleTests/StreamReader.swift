import Control
import TestSupport
import Testing
import WireProtocol

/// A browser's end of the event stream.
final class StreamReader {
    private let connection: LoopbackConnection
    private var rest = ""
    /// The rows that were sent, the latest of each path.
    private(set) var rows: [String: JSONValue] = [:]
    private(set) var events: [JSONValue] = []
    /// The number of messages that had all rows.
    private(set) var wholes = 0
    private(set) var position: String?
    /// The reason for which the rows are old, or there are none, as the last message with rows has told it.
    private(set) var problem: String?

    /// Begins the stream.
    ///
    /// - Parameters:
    ///   - position: the position in the header, as a browser sets it that connects again by itself.
    ///   - parameter: the position in the address, as a page sets it.
    init(_ port: UInt16, position: String? = nil, parameter: String? = nil) async throws {
        connection = try LoopbackConnection(port)
        let header = position.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        let query = parameter.map { "?position=\($0)" } ?? ""
        connection.send("GET /api/v1/stream\(query) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(header)\r\n")
    }

    /// Reads until something holds.
    func wait(_ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ condition: (StreamReader) -> Bool) async throws {
        try await eventually(what, sourceLocation: sourceLocation) {
            try read()
            return condition(self)
        }
    }

    private func read() throws {
        // Without the lines of the chunked encoding, which are hexadecimal numbers.
        rest += connection.receiveSoFar().replacing("\r\n", with: "\n")
        while let end = rest.firstRange(of: "\n\n\n") ?? rest.firstRange(of: "}\n\n") {
            let message = rest[..<end.upperBound]
            rest = String(rest[end.upperBound...])
            try take(message)
        }
    }

    private func take(_ message: Substring) throws {
        var kind = ""
        for line in message.split(separator: "\n") {
            if line.hasPrefix("event: ") { kind = String(line.dropFirst(7)) }
            if line.hasPrefix("id: ") { position = String(line.dropFirst(4)) }
            guard line.hasPrefix("data: ") else { continue }
            let data = try ControlJSON.parse(Array(line.dropFirst(6).utf8))
            if kind == "events" {
                events += data["events"]?.arrayValue?.compactMap { $0["event"] } ?? []
            } else {
                if data["whole"] == true { wholes += 1 }
                problem = data["problem"]?.stringValue
                for row in data["rows"]?.arrayValue ?? [] { rows[row["path"]?.stringValue ?? ""] = row }
            }
        }
    }
}
