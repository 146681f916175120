import Glibc

/// The certificates of a connection, as paths of PEM files.
struct TransferFiles: Sendable {
    /// What tells whether files are still the same.
    struct Identity: Sendable, Equatable {
        private struct File: Sendable, Equatable {
            let device: dev_t
            let number: ino_t
            let size: off_t
            let seconds: Int
            let nanoseconds: Int
        }

        private let files: [File?]

        fileprivate init(of paths: [String?]) {
            files = paths.map { path in
                var status = stat()
                guard let path, stat(path, &status) == 0 else { return nil }
                return File(
                    device: status.st_dev,
                    number: status.st_ino,
                    size: status.st_size,
                    seconds: status.st_mtim.tv_sec,
                    nanoseconds: status.st_mtim.tv_nsec
                )
            }
        }
    }

    /// The authority that the peer's certificate must have; `nil`: one of those that the system trusts.
    let authority: String?
    /// The certificate that is shown to the peer, and those between it and its authority.
    let certificate: String?
    let key: String?

    /// What the files are at present; a file that can't be looked at is `nil` in it.
    var identity: Identity { Identity(of: [authority, certificate, key]) }

    /// Returns the first of the files that isn't a PEM file with what it's for, and why; `nil`: all are.
    var problem: String? {
        for (path, content) in [(authority, "CERTIFICATE"), (certificate, "CERTIFICATE"), (key, "PRIVATE KEY")] {
            guard let path else { continue }
            guard let file = fopen(path, "re") else { return "\(path): \(String(cString: strerror(errno)))" }
            defer { fclose(file) }
            var bytes = [UInt8](repeating: 0, count: Self.sizeLimit)
            let count = fread(&bytes, 1, bytes.count, file)
            let lines = bytes[..<count].split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            let isThere = lines.contains { line in
                let text = String(decoding: line, as: UTF8.self)
                return text.hasPrefix("-----BEGIN ") && text.hasSuffix("\(content)-----")
            }
            if !isThere { return "\(path): there is no \(content) in it" }
        }
        return nil
    }

    /// The longest part of a file that is looked at: all certificates that Debian trusts have a quarter of that.
    private static let sizeLimit = 1 << 20
}
