package import Processes

/// A file that the cluster's part of a configuration names: what is to be renewed, and looked at before it's used.
public enum ClusterFile: String, CaseIterable, Sendable {
    case storeAuthority = "tls.authority"
    case storeCertificate = "tls.certificate"
    case storeKey = "tls.key"
    case storeRevocations = "tls.crl"
    case storePassword = "password_file"
    case linkAuthority = "link_tls.authority"
    case linkCertificate = "link_tls.certificate"
    case linkKey = "link_tls.key"
    case linkRevocations = "link_tls.crl"
    case linkToken = "token_file"

    /// What is in a file.
    public enum Content: Sendable {
        case authorities
        case certificate
        case key
        /// Lists of revoked certificates.
        case revocations
        /// A secret, in the first line.
        case secret
    }

    /// The peers that the file is for.
    public enum Peer: Sendable, CaseIterable {
        case store
        case nodes
    }

    /// What is in the file.
    public var content: Content {
        switch self {
        case .storeAuthority, .linkAuthority: .authorities
        case .storeCertificate, .linkCertificate: .certificate
        case .storeKey, .linkKey: .key
        case .storeRevocations, .linkRevocations: .revocations
        case .storePassword, .linkToken: .secret
        }
    }

    /// The peers that the file is for.
    public var peer: Peer {
        switch self {
        case .storeAuthority, .storeCertificate, .storeKey, .storeRevocations, .storePassword: .store
        case .linkAuthority, .linkCertificate, .linkKey, .linkRevocations, .linkToken: .nodes
        }
    }

    /// Returns the path that a configuration names; nil: none.
    public func path(in cluster: ClusterConfiguration) -> String? {
        switch self {
        case .storeAuthority: cluster.security.authority
        case .storeCertificate: cluster.security.certificate
        case .storeKey: cluster.security.key
        case .storeRevocations: cluster.security.revocations
        case .storePassword: cluster.passwordFile
        case .linkAuthority: cluster.links?.security.authority
        case .linkCertificate: cluster.links?.security.certificate
        case .linkKey: cluster.links?.security.key
        case .linkRevocations: cluster.links?.security.revocations
        case .linkToken: cluster.links?.tokenFile
        }
    }

    /// The file at a path.
    package func at(_ path: String) -> TrustedFile { TrustedFile(path, isSecret: content == .key || content == .secret) }
}
