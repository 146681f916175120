/// Where etcd is, and how a node speaks with it.
public struct EtcdOptions: Sendable {
    /// The certificates by which etcd and the node know each other; paths of PEM files.
    ///
    /// ``EtcdStore/renew()`` reads them again. None may be changed by other users than its owner, nor replaced by them; the key is root's or this
    /// user's, and read by no others than its group.
    public struct Security: Sendable, Hashable {
        /// The authority whose certificates etcd's members have; `nil`: those that the system trusts.
        public var authority: String?
        /// The node's certificate, and those between it and its authority; `nil`: etcd doesn't ask for one.
        public var certificate: String?
        /// The key of the node's certificate.
        public var key: String?
        /// The lists of the certificates that the authority has revoked; `nil`: none is known to be.
        public var revocations: String?

        /// Creates security settings.
        ///
        /// - Parameters:
        ///   - authority: The authority whose certificates etcd's members have.
        ///   - certificate: The node's certificate, and those between it and its authority.
        ///   - key: The key of the node's certificate.
        ///   - revocations: The lists of the certificates that the authority has revoked.
        public init(authority: String? = nil, certificate: String? = nil, key: String? = nil, revocations: String? = nil) {
            (self.authority, self.certificate, self.key, self.revocations) = (authority, certificate, key, revocations)
        }
    }

    /// A user of etcd, and the password.
    public struct Credentials: Sendable, Hashable {
        /// The user's name.
        public var user: String
        /// The password.
        public var password: String

        /// Creates credentials.
        ///
        /// - Parameters:
        ///   - user: The user's name.
        ///   - password: The password.
        public init(user: String, password: String) {
            (self.user, self.password) = (user, password)
        }
    }

    /// The addresses of etcd's members for clients, such as `https://10.0.0.1:2379`, all with the same scheme; the next one is tried
    /// when one fails.
    public var endpoints: [String]
    /// The cluster's name, which begins its keys: several clusters can share an etcd.
    public var cluster: String
    /// The user; `nil`: etcd asks for none.
    public var credentials: Credentials?
    /// The certificates of `https` endpoints.
    public var security: Security
    /// What the files of ``security`` have, for one who has read them; `nil`: the store reads them.
    package var certificates: EtcdCertificates?
    /// The longest time that one member is given for an answer before the next one is tried; at most a quarter of a lease's time.
    public var tryLimit: Duration
    /// The time without a change after which a watch makes its connection anew: one that is cut without a word looks like one on which
    /// nothing happens.
    public var watchLimit: Duration
    /// The number of revisions, those of other programs' keys, through which etcd is made to look when a watch is made anew; after more the keys
    /// are listed, which costs what the cluster itself has.
    package var mostLookedThrough: UInt64 = 1_000

    /// Creates options.
    ///
    /// - Parameters:
    ///   - endpoints: The addresses of etcd's members for clients.
    ///   - cluster: The cluster's name, which begins its keys.
    ///   - credentials: The user.
    ///   - security: The certificates of `https` endpoints.
    ///   - tryLimit: The longest time that one member is given for an answer.
    ///   - watchLimit: The time without a change after which a watch makes its connection anew.
    public init(
        endpoints: [String],
        cluster: String,
        credentials: Credentials? = nil,
        security: Security = Security(),
        tryLimit: Duration = .seconds(1),
        watchLimit: Duration = .seconds(10)
    ) {
        (self.endpoints, self.cluster, self.credentials, self.security) = (endpoints, cluster, credentials, security)
        (self.tryLimit, self.watchLimit) = (tryLimit, watchLimit)
    }
}
