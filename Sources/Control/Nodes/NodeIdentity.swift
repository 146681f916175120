import NNG

/// The proofs that a node of a cluster shows to the other nodes, and expects of them.
public struct NodeIdentity: Hashable, Sendable {
    /// The cluster's name.
    public var cluster: String
    /// The node's name, which its certificate has as one of its names.
    public var name: String
    /// The secret that all nodes of the cluster have.
    public var token: String
    /// The certificates of the connections between nodes.
    let security: TLSConfiguration

    /// The number of bytes that a token has at least.
    public static let minimumTokenLength = 16
    /// The number of bytes that a token has at most.
    public static let maximumTokenLength = 1024

    /// Creates an identity.
    ///
    /// - Parameters:
    ///   - authority: The certificates of the authorities that nodes' certificates are by, as a PEM text; likewise the node's own certificate
    ///     and its key.
    ///   - revocations: The lists of the certificates that each of the authorities has revoked; nil: there are none.
    public init(
        cluster: String,
        name: String,
        token: String,
        authority: String,
        certificate: String,
        key: String,
        revocations: String? = nil
    ) {
        (self.cluster, self.name, self.token) = (cluster, name, token)
        security = TLSConfiguration(authority: authority, certificate: certificate, key: key, revocations: revocations)
    }

    /// Whether this is the token, in a time that doesn't tell where they differ.
    func hasToken(_ text: String) -> Bool {
        let (own, other) = (Array(token.utf8), Array(text.utf8))
        guard own.count == other.count else { return false }
        return zip(own, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension NodeIdentity: CustomStringConvertible {
    /// The names, without the secrets.
    public var description: String { "node \(name) of \(cluster)" }
}

extension NodeIdentity: CustomReflectable {
    /// The names, without the secrets.
    public var customMirror: Mirror { Mirror(self, children: ["cluster": cluster, "name": name]) }
}
