import Processes
import Testing

/// An authority and certificates by it, as `Deploy/certificates` makes them.
public struct Certificates: Sendable {
    private let temporary: TemporaryDirectory

    /// Makes an authority, and a certificate for each name.
    public init(_ names: String...) async throws {
        temporary = try TemporaryDirectory()
        try await Self.run(Files.packageRoot + "/Deploy/certificates", [temporary.path] + names)
    }

    /// The directory of the files, such as `ca.crt` and `NAME.key`.
    public var directory: String { temporary.path }

    /// Returns the PEM text of a file.
    public func text(_ file: String) throws -> String { try #require(Files.text(of: temporary.file(file))) }

    /// Replaces the certificate of a name by one that has expired.
    public func expire(_ name: String) async throws {
        let (request, extensions) = (temporary.file("\(name).csr"), temporary.file("\(name).ext"))
        try Files.write("subjectAltName=DNS:\(name)\n", to: extensions)
        let key = temporary.file("\(name).key")
        try await Self.run("/usr/bin/openssl", ["req", "-new", "-key", key, "-subj", "/CN=\(name)", "-out", request])
        let authority = ["-CA", temporary.file("ca.crt"), "-CAkey", temporary.file("ca.key"), "-set_serial", "77"]
        let files = ["-in", request, "-extfile", extensions, "-out", temporary.file("\(name).crt")]
        try await Self.run("/usr/bin/openssl", ["x509", "-req", "-days", "-1"] + authority + files)
    }

    private static func run(_ executable: String, _ arguments: [String]) async throws {
        let ended = try await BuiltProgram(path: executable).run(arguments)
        try #require(ended.exitCode == 0, "\(executable): \(ended.errors)")
    }
}
