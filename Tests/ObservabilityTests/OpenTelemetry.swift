import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// What OpenTelemetry's own Protobuf definitions read in exported requests.
enum OpenTelemetry {
    struct Span: Codable {
        var trace: String
        var span: String
        var parent: String?
        var name: String
        var kind: String
        var service: String
        var process: Int32
        var nanoseconds: Int64
        var failed: Bool
        var path: String
    }

    struct Point: Codable {
        var metric: String
        var unit: String
        var kind: String
        var path: String?
        var message: String?
        var count: UInt64
        var sum: Double?
        var buckets: [UInt64]
        var bounds: Int
    }

    private static let python = BuiltProgram(path: getenv("COORDINATORS_TEST_PYTHON").map { String(cString: $0) } ?? "/usr/bin/python3")

    static let isAvailable = getenv("COORDINATORS_TEST_PYTHON") != nil

    static func spans(in file: String) async throws -> [Span] { try await read([Span].self, "traces", file) }

    static func points(in file: String) async throws -> [Point] { try await read([Point].self, "metrics", file) }

    private static func read<Value: Decodable>(_ type: Value.Type, _ kind: String, _ file: String) async throws -> Value {
        let ended = try await python.run(["\(Files.packageRoot)/Tests/ObservabilityTests/otlp.py", kind, file])
        try #require(ended.exitCode == 0, "\(ended.errors)")
        return try JSONDecoder().decode(type, from: Data(ended.output.utf8))
    }
}
