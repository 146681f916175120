internal import CMbedTLS

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
