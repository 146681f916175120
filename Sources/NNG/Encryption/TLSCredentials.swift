internal import CMbedTLS

/// The certificates, the key and the random numbers of one end of an encrypted connection, in the form of Mbed TLS.
///
/// Each session has its own, random numbers included, so that no two share memory that Mbed TLS writes to.
final class TLSCredentials {
    // Each points to one structure, which is initialised in `init` and freed with this object.
    let authority = UnsafeMutablePointer<mbedtls_x509_crt>.allocate(capacity: 1)
    let certificate = UnsafeMutablePointer<mbedtls_x509_crt>.allocate(capacity: 1)
    let key = UnsafeMutablePointer<mbedtls_pk_context>.allocate(capacity: 1)
    /// The lists of revoked certificates; not to be used unless ``hasRevocations``.
    let revocations = UnsafeMutablePointer<mbedtls_x509_crl>.allocate(capacity: 1)
    let hasRevocations: Bool
    let random = UnsafeMutablePointer<mbedtls_ctr_drbg_context>.allocate(capacity: 1)
    /// The source of the random numbers; nil when there was no memory.
    private let entropy = coordinators_new_entropy()

    /// Reads the texts of a configuration.
    ///
    /// - Throws: `.cryptography` when a text isn't what it should be, `.outOfMemory`.
    init(_ configuration: TLSConfiguration, operation: String, address: String) throws(NNGError) {
        mbedtls_x509_crt_init(authority)
        mbedtls_x509_crt_init(certificate)
        mbedtls_pk_init(key)
        mbedtls_x509_crl_init(revocations)
        hasRevocations = configuration.revocations != nil
        mbedtls_ctr_drbg_init(random)
        guard let entropy else { throw NNGError(.outOfMemory, operation: operation, address: address) }
        var result = mbedtls_ctr_drbg_seed(random, mbedtls_entropy_func, entropy, nil, 0)
        if result == 0 { result = Self.withPEM(configuration.authority) { mbedtls_x509_crt_parse(authority, $0, $1) } }
        if result == 0 { result = Self.withPEM(configuration.certificate) { mbedtls_x509_crt_parse(certificate, $0, $1) } }
        if result == 0 { result = Self.withPEM(configuration.key) { coordinators_read_key(key, $0, $1, random) } }
        if result == 0, let lists = configuration.revocations {
            result = Self.withPEM(lists) { mbedtls_x509_crl_parse(revocations, $0, $1) }
            // Mbed TLS revokes nothing of an authority that has no list.
            if result == 0, !hasListOfEachAuthority { result = MBEDTLS_ERR_X509_FATAL_ERROR }
        }
        guard result == 0 else { throw NNGError(.init(mbedTLS: result), operation: operation, address: address) }
    }

    private var hasListOfEachAuthority: Bool {
        sequence(first: UnsafePointer(authority)) { $0.pointee.next.map { UnsafePointer($0) } }.allSatisfy { authority in
            sequence(first: UnsafePointer(revocations)) { $0.pointee.next.map { UnsafePointer($0) } }
                .contains { coordinators_is_list_of($0, authority) == 1 }
        }
    }

    deinit {
        mbedtls_x509_crt_free(authority)
        mbedtls_x509_crt_free(certificate)
        mbedtls_pk_free(key)
        mbedtls_x509_crl_free(revocations)
        mbedtls_ctr_drbg_free(random)
        authority.deallocate()
        certificate.deallocate()
        key.deallocate()
        revocations.deallocate()
        random.deallocate()
        coordinators_free_entropy(entropy)
    }

    /// Calls a function with a text and its length, as Mbed TLS expects them: the length counts the NUL at the end.
    static func withPEM(_ text: String, _ body: (UnsafePointer<UInt8>?, Int) -> Int32) -> Int32 {
        let bytes = Array(text.utf8) + [0]
        return bytes.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
    }
}

extension NNGError.Code {
    /// Translates an error of Mbed TLS.
    init(mbedTLS result: Int32) {
        self =
            switch result {
            case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY, MBEDTLS_ERR_SSL_CONN_EOF: .connectionShut
            case MBEDTLS_ERR_X509_CERT_VERIFY_FAILED, MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE: .peerNotAuthenticated
            case MBEDTLS_ERR_SSL_ALLOC_FAILED, MBEDTLS_ERR_X509_ALLOC_FAILED, MBEDTLS_ERR_PK_ALLOC_FAILED: .outOfMemory
            default: .cryptography
            }
    }
}

/// The certificates of one end of encrypted connections, as PEM texts: both ends show one, and each checks the other's.
///
/// The protocol is TLS 1.2, the newest of the Mbed TLS (2.28) that nng 1.5.2 is built with. Its keys are exchanged by ECDHE, and its ciphers are
/// AES-GCM and ChaCha20-Poly1305; others are refused.
public struct TLSConfiguration: Hashable, Sendable {
    /// The certificates of the authorities that the peer's certificate may be by.
    public var authority: String
    /// This end's certificate, and those between it and the authority.
    public var certificate: String
    /// The key of this end's certificate, without a password.
    public var key: String
    /// The lists of the certificates that each authority has revoked; nil: none is known to be.
    ///
    /// No peer is believed once a list of its authority has expired.
    public var revocations: String?

    /// Creates a configuration; what the texts are shows when it's used.
    public init(authority: String, certificate: String, key: String, revocations: String? = nil) {
        (self.authority, self.certificate, self.key, self.revocations) = (authority, certificate, key, revocations)
    }

    /// Throws `.cryptography` or another error when one of the texts can't be read.
    public func check() throws(NNGError) {
        _ = try TLSCredentials(self, operation: "check", address: "")
    }
}

/// A PEM text of certificates, of a key, or of lists of revoked certificates, as it's looked at before it's used.
public struct PEMText: Sendable {
    /// The kind of a text's content.
    public enum Kind: Sendable {
        /// Authorities, of which a connection needs one.
        case authorities
        /// A certificate, and those between it and its authority.
        case certificate
        case key
        /// Lists of revoked certificates.
        case revocations
    }

    /// The reason why nothing is known of a text.
    public enum Problem: Error, Sendable {
        /// It isn't what it's for.
        case unreadable
        /// It has an algorithm that Mbed TLS doesn't know, and others may.
        case unknownAlgorithm
    }

    private let text: String
    private let kind: Kind

    /// Creates a view of a text; nothing is read yet.
    public init(_ text: String, of kind: Kind) { (self.text, self.kind) = (text, kind) }

    /// Reads the text, and returns the time at which it's of no use any more, in seconds since 1970; nil: it never is, as a key.
    ///
    /// That is the end of the last authority, and of the first certificate or list.
    public func expiry() throws(Problem) -> Int? {
        switch kind {
        case .authorities: try withCertificates { Self.ends(of: $0).max() }
        case .certificate: try withCertificates { Self.ends(of: $0).min() }
        case .revocations:
            try Self.with(mbedtls_x509_crl_init, mbedtls_x509_crl_free) { list in
                TLSCredentials.withPEM(text) { mbedtls_x509_crl_parse(list, $0, $1) }
            } then: { list in
                sequence(first: list) { $0.pointee.next }.map { list in
                    withUnsafePointer(to: &list.pointee.next_update) { Int(clamping: coordinators_seconds($0)) }
                }.min()
            }
        case .key:
            try withKey { _, _ in nil }
        }
    }

    /// Whether this key is the one of a certificate.
    public func isKey(of certificate: PEMText) throws(Problem) -> Bool {
        let result = try certificate.withCertificates { crt in
            Result { () throws(Problem) in try withKey { key, random in coordinators_is_key_of(crt, key, random) == 1 } }
        }
        return try result.get()
    }

    private static func ends(of first: UnsafeMutablePointer<mbedtls_x509_crt>) -> [Int] {
        sequence(first: first) { $0.pointee.next }.map { certificate in
            withUnsafePointer(to: &certificate.pointee.valid_to) { Int(clamping: coordinators_seconds($0)) }
        }
    }

    private func withCertificates<Value>(_ body: (UnsafeMutablePointer<mbedtls_x509_crt>) -> Value) throws(Problem) -> Value {
        try Self.with(mbedtls_x509_crt_init, mbedtls_x509_crt_free) { certificate in
            TLSCredentials.withPEM(text) { mbedtls_x509_crt_parse(certificate, $0, $1) }
        } then: {
            body($0)
        }
    }

    private func withKey<Value>(
        _ body: (UnsafeMutablePointer<mbedtls_pk_context>, UnsafeMutablePointer<mbedtls_ctr_drbg_context>) -> Value
    ) throws(Problem) -> Value {
        guard let entropy = coordinators_new_entropy() else { throw .unreadable }
        defer { coordinators_free_entropy(entropy) }
        var random = mbedtls_ctr_drbg_context()
        mbedtls_ctr_drbg_init(&random)
        defer { mbedtls_ctr_drbg_free(&random) }
        guard mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, entropy, nil, 0) == 0 else { throw .unreadable }
        return try Self.with(mbedtls_pk_init, mbedtls_pk_free) { key in
            TLSCredentials.withPEM(text) { coordinators_read_key(key, $0, $1, &random) }
        } then: {
            body($0, &random)
        }
    }

    /// Reads into one of Mbed TLS's structures, and frees it afterwards.
    private static func with<Structure, Value>(
        _ initialise: (UnsafeMutablePointer<Structure>?) -> Void,
        _ free: (UnsafeMutablePointer<Structure>?) -> Void,
        read: (UnsafeMutablePointer<Structure>) -> Int32,
        then body: (UnsafeMutablePointer<Structure>) -> Value
    ) throws(Problem) -> Value {
        let structure = UnsafeMutablePointer<Structure>.allocate(capacity: 1)
        defer { structure.deallocate() }
        initialise(structure)
        defer { free(structure) }
        let result = read(structure)
        guard result != 0 else { return body(structure) }
        // A positive number is that of the certificates that can't be read, beside others. A negative one has a low part, of the layer below.
        let unknown = [
            MBEDTLS_ERR_X509_UNKNOWN_SIG_ALG, MBEDTLS_ERR_PK_UNKNOWN_PK_ALG, MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE,
            MBEDTLS_ERR_X509_UNKNOWN_OID,
        ]
        throw result > 0 || unknown.contains { -result & ~0x7F == -$0 } ? .unknownAlgorithm : .unreadable
    }
}
