import Control
import Foundation
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import CoordinatorConsole

@Suite("Requests that a generator makes from the API's description", .timeLimit(minutes: 2))
struct SchemaTests {
    /// Schemathesis, beside the interpreter for tests.
    private static let schemathesis = ProcessInfo.processInfo.environment["COORDINATORS_TEST_PYTHON"].map { python in
        python.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/schemathesis"
    }

    @Test("The description has each address of the API with its method, and no other one")
    func described() async throws {
        let description = try ControlJSON.parse(OpenAPI.document)
        let paths = try #require(description["paths"]?.objectValue)
        let methods = paths.mapValues { $0.objectValue.map { Set($0.keys) } }
        for address in Questions.paths { #expect(methods[address] == ["get"], "\(address)") }
        for address in Changes.operations { #expect(methods[address] == ["post"], "\(address)") }
        #expect(Set(paths.keys) == Questions.paths.union(Changes.operations))
        for address in Changes.operations where address != Changes.unlock {
            let body = paths[address]?["post"]?["requestBody"]?["content"]?["application/json"]?["schema"]?["properties"]
            #expect(body?["request_id"]?["maxLength"] == 128, "\(address)")
            #expect((body?["incarnation"] != nil) == (Changes.lifecycle[address]?.at("/a", life: 3).meantLife == 3), "\(address)")
        }
        let parameters = paths["/api/v1/stream"]?["get"]?["parameters"]?.arrayValue ?? []
        #expect(parameters.map { $0["name"] } == ["Last-Event-ID", "position"])
        let schemas = try #require(description["components"]?["schemas"]?.objectValue)
        #expect(schemas.keys.contains("TreeNode") && paths["/api/v1/stop"]?["post"]?["summary"] == .string(ControlOperation.Stop.summary))
    }

    @Test(
        "None makes the console answer with an error of its own",
        .enabled(if: schemathesis.map { FileManager.default.isExecutableFile(atPath: $0) } ?? false, "needs schemathesis")
    )
    func generated() async throws {
        let schemathesis = try #require(Self.schemathesis)
        try await RunningConsole.with(ConsoleTests.children) { console in
            // A console of its own: the generator stops what it finds in the tree, also the tree's console.
            let port = try FreePort.find()
            let other = ProcessSpecification(
                executable: BuiltProgram("coordinator-console").path,
                arguments: [
                    "--listen", "127.0.0.1:\(port)", "--runtime-dir", "\(console.directory)/run", "--token-file",
                    "\(console.directory)/token",
                ],
                standardOutput: .null,
                standardError: .null
            )
            // The daemon's absence is told with 503, and that it takes too long, as on a busy machine, with 504: no error of the console's own.
            let statuses = #"checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503, 504]"#
            try Files.write(statuses + "\n", to: "\(console.directory)/schemathesis.toml")
            // The stream has no end that could be waited for.
            let phases = TestTier.current == .short ? "examples,coverage" : "examples,coverage,fuzzing"
            let command = """
                cd '\(console.directory)' && exec timeout -k 5 100 '\(schemathesis)' run 'http://127.0.0.1:\(port)/openapi.json' \
                --url 'http://127.0.0.1:\(port)' --checks not_a_server_error --phases \(phases) \
                --exclude-path /api/v1/stream --max-time 30 --max-failures 5 --request-timeout 60 --seed 1 --warnings off \
                --header 'Authorization: Bearer \(RunningConsole.token)' --no-color
                """
            try await withChild(other) { _ in
                try await eventually("it's ready") { try? await HTTPExchange.request("GET", "/readyz", port: port).status == 200 }
                let ended = try await Programs.shell(command)
                #expect(ended.exitCode == 0, "\(Self.problems(in: ended.output)) \(ended.errors)")
                // Some for most of the addresses: how many the time is enough for depends on the machine.
                let made = ended.output.split(separator: "\n").first { $0.contains("generated") }.flatMap { line in
                    line.split { !$0.isNumber }.compactMap { Int($0) }.first
                }
                #expect((made ?? 0) > 10, "\(ended.output.suffix(4000))")
                #expect(try await HTTPExchange.request("GET", "/healthz", port: port).status == 200)
            }
        }
    }

    /// What the generator says of failures and errors, on one line, so that the summary of a long log has it.
    private static func problems(in output: String) -> String {
        let lines = output.split(separator: "\n")
        let from = lines.firstIndex { $0.contains("= FAILURES =") || $0.contains("= ERRORS =") } ?? max(lines.count - 20, 0)
        return lines[from...].map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " | ")
    }
}
