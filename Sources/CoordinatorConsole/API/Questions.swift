import Control
import WireProtocol

/// The part of the API that shows and changes nothing: it mirrors the questions of the control protocol.
struct Questions: Sendable {
    /// The addresses.
    static let paths: Set<String> = Set(kept.keys).union(ofPaths.keys).union([
        "/api/v1/console", "/api/v1/events", ControlOperation.Flows.address, "/api/v1/logs", "/api/v1/series", "/api/v1/traces",
        "/api/v1/stream", "/metrics", "/healthz",
        "/readyz",
    ])

    /// The questions about the daemon as a whole, whose answers serve several who ask at about the same time.
    static let kept = Dictionary(
        uniqueKeysWithValues: [ControlOperation.tree, .ps, .deadLetters, .metrics, .nodes, .configurationDifference(file: nil)].map {
            (type(of: $0.content).address, $0)
        }
    )

    /// The questions about a path.
    static let ofPaths = addresses(
        of: ControlOperation.Where.self,
        ControlOperation.Status.self,
        ControlOperation.History.self,
        ControlOperation.Flow.self
    )

    /// What a page must know of its console.
    private struct Description: Encodable {
        var version: String
        var readOnly: Bool
        var operations: [String]
    }

    let daemon: DaemonConnection
    let feed: Feed
    let isReadOnly: Bool
    let traces = TraceShelf()
    private let metrics: MetricsPage

    init(daemon: DaemonConnection, feed: Feed, isReadOnly: Bool) {
        self.daemon = daemon
        self.feed = feed
        self.isReadOnly = isReadOnly
        metrics = MetricsPage(daemon: daemon, feed: feed)
    }

    /// Returns the answer of one of the addresses.
    func answer(_ address: String, to request: HTTPRequest) async throws -> HTTPResponse {
        let parameters = Parameters(request)
        if let question = Self.kept[address] {
            let answer = try await daemon.answer(to: question)
            guard question.content is ControlOperation.ConfigurationDifference else { return .json(bytes: answer.bytes) }
            // Who asks isn't known here, and values quote the file.
            return try .json(ControlJSON.decode(ConfigurationChanges.self, from: answer.value).withoutValues)
        }
        if let question = Self.ofPaths[address] { return try .json(await daemon.call(question.at(try parameters.path()))) }
        switch address {
        case "/healthz": return .text("text/plain; charset=utf-8", "ok\n")
        case "/readyz": return try await readiness()
        case "/metrics": return await metrics.response(to: request)
        case "/api/v1/console":
            let operations = isReadOnly ? [] : Changes.operations.compactMap { $0.split(separator: "/").last.map(String.init) }.sorted()
            return try .json(Description(version: Release.version, readOnly: isReadOnly, operations: operations))
        case "/api/v1/events": return try await events(parameters)
        case ControlOperation.Flows.address: return try .json(await daemon.call(try flows(parameters)))
        case "/api/v1/logs": return try await logs(parameters)
        case "/api/v1/series":
            let path = try parameters.optionalPath()
            guard let report = await feed.series(of: path) else {
                throw Refusal(.notFound, "noSuchPath", "nothing is known of this path yet")
            }
            return try .json(report)
        case "/api/v1/traces": return try .json(["traces": traces.latest(of: try parameters.optionalPath())])
        default: throw Refusal(.notFound, "noSuchPage", "there is no such page; see /openapi.json")
        }
    }

    private func readiness() async throws -> HTTPResponse {
        if let reason = await feed.complaint { throw Refusal(.serviceUnavailable, "unreachable", reason) }
        return .text("text/plain; charset=utf-8", "ready\n")
    }

    private func events(_ parameters: Parameters) async throws -> HTTPResponse {
        let limit = try parameters.number("limit", in: 1...1000, default: 200)
        let after = try parameters.number("after", in: 0...1 << 53, default: 0)
        let (entries, _) = await feed.ring.after(UInt64(after), limit: limit, path: try parameters.optionalPath())
        return try .json(["events": entries])
    }

    private func flows(_ parameters: Parameters) throws(Refusal) -> ControlOperation {
        .flows(
            path: try parameters.optionalPath() ?? "/",
            selection: parameters.text("selection"),
            after: parameters.text("after"),
            limit: try parameters.number("limit", in: 1...1000, default: 100)
        )
    }

    private func logs(_ parameters: Parameters) async throws -> HTTPResponse {
        let lines = try parameters.number("lines", in: 1...1000, default: 200)
        var path = try parameters.path()
        let isKnown = await feed.table.rows[path] != nil
        while true {
            do throws(ControlError) {
                let query = LogQuery(paths: [path], lines: lines, pattern: parameters.text("pattern"))
                var kept: [JSONValue] = []
                _ = try await daemon.connected().stream(.logs(query), untilSilent: true) { line throws(ControlError) in
                    kept.append(line)
                }
                return try .json(["lines": JSONValue.array(kept), "path": .string(path)])
            } catch {
                // A coordinator writes to the output of the child of the daemon that it is in.
                guard error.code == .noSuchPath, isKnown, let end = path.lastIndex(of: "/"), end != path.startIndex else { throw error }
                path = String(path[..<end])
            }
        }
    }
}

extension HTTPResponse {
    fileprivate static func text(_ mediaType: String, _ text: String) -> HTTPResponse {
        .text(.ok, mediaType, .bytes(Array(text.utf8)))
    }
}
