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
