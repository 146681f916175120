import Glibc
import Testing

/// A fresh directory with a short path, which goes with its last reference, and everything in it too.
public final class TemporaryDirectory: Sendable {
    public let path: String

    public init() throws {
        var template = Array("/tmp/coordinators-test-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil, "no temporary directory")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Files.remove(path) }

    /// The names of what is in it, sorted.
    public var entries: [String] { Files.names(in: path) }

    /// The path of a file in it.
    public func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// A directory that lives as long as the body.
public func withTemporaryDirectory<Result>(_ body: (TemporaryDirectory) async throws -> Result) async throws -> Result {
    let directory = try TemporaryDirectory()
    let result = try await body(directory)
    // A reference that isn't used any more may go before.
    return withExtendedLifetime(directory) { result }
}
