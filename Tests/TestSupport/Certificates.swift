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

    /// Replaces the certificate of a name by one that has expired, or expires soon.
    public func expire(_ name: String, inDays days: Int = -1) async throws { try await issue(name, days: days) }

    /// Replaces the certificate and the key of a name by those of another algorithm, such as `rsa:2048`.
    public func replaceKey(of name: String, by algorithm: String) async throws {
        let key = temporary.file("\(name).key")
        try await Self.run("/usr/bin/openssl", ["req", "-newkey", algorithm, "-nodes", "-subj", "/CN=\(name)", "-keyout", key])
        try await issue(name, days: 1)
    }

    /// Replaces the authority's certificate by one that has expired.
    public func expireAuthority() async throws {
        let files = ["-in", temporary.file("ca.crt"), "-signkey", temporary.file("ca.key"), "-out", temporary.file("ca.crt")]
        try await Self.run("/usr/bin/openssl", ["x509", "-days", "-1"] + files)
    }

    /// Replaces the certificate of a name by one without a common name, as etcd's gateway wants it of users with passwords.
    public func removeCommonName(of name: String) async throws { try await issue(name, days: 30, subject: "/O=Tests") }

    private func issue(_ name: String, days: Int, subject: String? = nil) async throws {
        let (request, extensions) = (temporary.file("\(name).csr"), temporary.file("\(name).ext"))
        try Files.write("subjectAltName=DNS:\(name),DNS:localhost,IP:127.0.0.1\n", to: extensions)
        let key = temporary.file("\(name).key")
        try await Self.run("/usr/bin/openssl", ["req", "-new", "-key", key, "-subj", subject ?? "/CN=\(name)", "-out", request])
        let authority = ["-CA", temporary.file("ca.crt"), "-CAkey", temporary.file("ca.key"), "-set_serial", "77"]
        let files = ["-in", request, "-extfile", extensions, "-out", temporary.file("\(name).crt")]
        try await Self.run("/usr/bin/openssl", ["x509", "-req", "-days", "\(days)"] + authority + files)
    }

    /// Writes `ca.crl`, the authority's list of the certificates that it has revoked: those of the names.
    public func revoke(_ names: String..., isExpired: Bool = false) async throws {
        var index = ""
        for name in names {
            let said = try await Self.run("/usr/bin/openssl", ["x509", "-noout", "-serial", "-in", temporary.file("\(name).crt")])
            let serial = said.split(separator: "=").last?.split(separator: "\n").first ?? ""
            index += "R\t990101000000Z\t200101000000Z\t\(serial)\tunknown\t/CN=\(name)\n"
        }
        try Files.write(index, to: temporary.file("index"))
        let settings = "[ca]\ndefault_ca=c\n[c]\ndatabase=\(temporary.file("index"))\ndefault_md=sha256\n"
        try Files.write(settings, to: temporary.file("ca.cnf"))
        let files = ["-keyfile", temporary.file("ca.key"), "-cert", temporary.file("ca.crt"), "-out", temporary.file("ca.crl")]
        let times = isExpired ? ["-crl_lastupdate", "200101000000Z", "-crl_nextupdate", "200201000000Z"] : ["-crldays", "1"]
        try await Self.run("/usr/bin/openssl", ["ca", "-gencrl", "-config", temporary.file("ca.cnf")] + files + times)
    }

    @discardableResult
    private static func run(_ executable: String, _ arguments: [String]) async throws -> String {
        let ended = try await BuiltProgram(path: executable).run(arguments)
        try #require(ended.exitCode == 0, "\(executable): \(ended.errors)")
        return ended.output
    }
}
