import Control
import Processes
import TestSupport
import Testing
import WireProtocol

/// A real Prometheus with a configuration of its own.
struct RunningPrometheus: Sendable {
    private let process: ChildProcess
    private let port: UInt16

    /// Runs a Prometheus with the file `prometheus.yaml` of a directory, as long as the body.
    static func with(in directory: String, _ body: (RunningPrometheus) async throws -> Void) async throws {
        let port = try FreePort.find()
        let specification = ProcessSpecification(
            executable: "/bin/sh",
            arguments: [
                "-c",
                "exec prometheus --config.file=$0/prometheus.yaml --storage.tsdb.path=$0/data --web.listen-address=127.0.0.1:\(port)",
                directory,
            ],
            standardOutput: .null,
            standardError: .null
        )
        try await withChild(specification) { process in
            let prometheus = RunningPrometheus(process: process, port: port)
            try await eventually("Prometheus answers", within: .seconds(60)) {
                try? await HTTPExchange.request("GET", "/-/ready", port: port).status == 200
            }
            try await body(prometheus)
        }
    }

    /// Has it read its configuration again.
    func reload() throws { try process.send(.hangup) }

    /// Returns the series that a query finds at the moment.
    func query(_ text: String) async throws -> [JSONValue] {
        let encoded = text.utf8.map { "%" + (String($0, radix: 16).count < 2 ? "0" : "") + String($0, radix: 16) }.joined()
        let answer = try await HTTPExchange.request("GET", "/api/v1/query?query=\(encoded)", port: port)
        guard answer.status == 200 else { throw BadQuery(text: text, answer: answer.body) }
        return try #require(try answer.json["data"]?["result"]?.arrayValue)
    }

    /// The queries of the dashboard's panels, for all targets and paths.
    static func dashboardQueries() throws -> [(panel: String, query: String)] {
        let text = try #require(Files.text(of: "\(Programs.deploy("prometheus"))/dashboard.json"))
        let panels = try ControlJSON.parse(Array(text.utf8))["panels"]?.arrayValue ?? []
        return try panels.flatMap { panel in
            try (panel["targets"]?.arrayValue ?? []).map { target in
                let query = try #require(target["expr"]?.stringValue)
                return (panel["title"]?.stringValue ?? "", query.replacing("$instance", with: ".*").replacing("$path", with: ".*"))
            }
        }
    }
}

/// A query that Prometheus refuses.
private struct BadQuery: Error {
    var text: String
    var answer: String
}
