import CCurl
import Glibc
import Processes

/// The certificates by which etcd and a node know each other, as PEM texts; `nil`: see ``EtcdOptions/Security``.
package struct EtcdCertificates: Sendable, Hashable {
    package var authority: [UInt8]?
    package var certificate: [UInt8]?
    package var key: [UInt8]?
    package var revocations: [UInt8]?

    package init(authority: [UInt8]?, certificate: [UInt8]?, key: [UInt8]?, revocations: [UInt8]?) {
        // A certificate without its key is of no use, nor is a key without its certificate.
        let isWhole = certificate != nil && key != nil
        (self.authority, self.revocations) = (authority, revocations)
        (self.certificate, self.key) = isWhole ? (certificate, key) : (nil, nil)
    }

    /// Reads the files; blocks as ``RegularFile`` does.
    init(_ security: EtcdOptions.Security) throws(StoreError) {
        // It's a process, which isn't needed for no files.
        let looks = security == .init() ? nil : FileLooks()
        func bytes(_ path: String?, _ content: String, isSecret: Bool = false) throws(StoreError) -> [UInt8]? {
            guard let path, let looks else { return nil }
            let bytes: [UInt8]
            do throws(TrustedFile.Failure) {
                bytes = try TrustedFile(path, isSecret: isSecret).read(looks)
            } catch {
                throw Self.unusable(path, "it \(error.explanation)")
            }
            let isThere = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.contains { line in
                let text = String(decoding: line, as: UTF8.self)
                return text.hasPrefix("-----BEGIN ") && text.hasSuffix("\(content)-----")
            }
            if isThere { return bytes }
            throw Self.unusable(path, "there is no \(content) in it")
        }
        self.init(
            authority: try bytes(security.authority, "CERTIFICATE"),
            certificate: try bytes(security.certificate, "CERTIFICATE"),
            key: try bytes(security.key, "PRIVATE KEY", isSecret: true),
            revocations: try bytes(security.revocations, "CRL")
        )
    }

    private static func unusable(_ path: String, _ reason: String) -> StoreError {
        StoreError(code: .unusable, message: "Could not read the certificates for etcd, which are PEM files: \(path): \(reason).")
    }
}

/// Certificates as files in memory, which is what every build of libcurl reads.
///
/// They are what was looked at before they were used, whatever becomes of the files of the disk, and no file system delays the thread that reads
/// them.
final class TransferFiles: Sendable {
    let certificates: EtcdCertificates
    /// The paths of the files; `nil` of those that there aren't.
    let authority: String?
    let certificate: String?
    let key: String?
    let revocations: String?
    private let descriptors: [Int32]

    init(_ certificates: EtcdCertificates) throws(StoreError) {
        self.certificates = certificates
        var descriptors: [Int32] = []
        do throws(StoreError) {
            func file(_ bytes: [UInt8]?) throws(StoreError) -> String? {
                guard let bytes else { return nil }
                let descriptor = coordinator_curl_file(bytes, bytes.count)
                guard descriptor >= 0 else {
                    let reason = String(cString: strerror(-descriptor))
                    throw StoreError(code: .unusable, message: "Could not keep the certificates for etcd in memory: \(reason).")
                }
                descriptors.append(descriptor)
                return "/proc/self/fd/\(descriptor)"
            }
            (authority, certificate) = (try file(certificates.authority), try file(certificates.certificate))
            (key, revocations) = (try file(certificates.key), try file(certificates.revocations))
        } catch {
            for descriptor in descriptors { close(descriptor) }
            throw error
        }
        self.descriptors = descriptors
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
