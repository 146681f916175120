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
