internal import CNNG

/// The certificates of one end of encrypted connections, as PEM texts: both ends show one, and each checks the other's.
///
/// The protocol is TLS 1.2, the newest that nng 1.5.2 speaks.
public struct TLSConfiguration: Hashable, Sendable {
    /// The certificates of the authorities that the peer's certificate may be by.
    public var authority: String
    /// This end's certificate, and those between it and the authority.
    public var certificate: String
    /// The key of this end's certificate, without a password.
    public var key: String

    /// Creates a configuration; what the texts are shows when it's used.
    public init(authority: String, certificate: String, key: String) {
        (self.authority, self.certificate, self.key) = (authority, certificate, key)
    }

    /// Throws `.cryptography` or another error when one of the texts can't be read.
    public func check() throws(NNGError) {
        try withParameters(serverName: nil, operation: "check", address: "") { _ in 0 }
    }

    /// Calls a function with nng's form of the configuration, which keeps it if it needs it for longer.
    ///
    /// - Parameter serverName: The name that the certificate of a listener must have; nil: this end is the listener.
    func withParameters(
        serverName: String?,
        operation: String,
        address: String,
        _ body: (OpaquePointer) -> Int32
    ) throws(NNGError) {
        var parameters: OpaquePointer?
        var result = nng_tls_config_alloc(&parameters, serverName == nil ? NNG_TLS_MODE_SERVER : NNG_TLS_MODE_CLIENT)
        defer { if let parameters { nng_tls_config_free(parameters) } }
        if result == 0 { result = nng_tls_config_auth_mode(parameters, NNG_TLS_AUTH_MODE_REQUIRED) }
        if result == 0 { result = nng_tls_config_ca_chain(parameters, authority, nil) }
        if result == 0 { result = nng_tls_config_own_cert(parameters, certificate, key, nil) }
        if result == 0, let serverName { result = nng_tls_config_server_name(parameters, serverName) }
        if result == 0, let parameters { result = body(parameters) }
        guard result == 0 else { throw NNGError(.init(rawValue: result), operation: operation, address: address) }
    }
}
