import ConcurrencySupport

/// The store of a cluster in etcd 3.4 or later, by its JSON gateway.
///
/// The keys are `/coordinators/CLUSTER/…`, with the texts of ``StoreKey``. Of several endpoints one is used until it fails, or has no
/// leader; then the next one. A request that was given up is closed; etcd may carry it out all the same, which is why the calls of
/// ``ClusterStore`` can be repeated.
///
/// etcd should run with `--pre-vote=true`, which is off by default in etcd 3.4. It grants no lease that is shorter than one and a half of
/// its election timeouts: two seconds by default.
///
/// Call ``close()`` at the end.
public final class EtcdStore: RevisionedStore {
    package let tryLimit: Duration
    let client: EtcdClient
    private let security: EtcdOptions.Security
    package let keys: EtcdKeys
    let watchLimit: Duration
    private let mostLookedThrough: UInt64

    /// Creates a store; nothing is sent before the first call.
    ///
    /// - Parameter options: Where etcd is, and how the node speaks with it.
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/unusable`` when an endpoint is none, the cluster's name is empty or has a
    ///   slash, a certificate can't be read, or libcurl isn't there.
    public init(_ options: EtcdOptions) throws(StoreError) {
        guard !options.cluster.isEmpty, !options.cluster.contains("/") else {
            throw StoreError(code: .unusable, message: "\"\(options.cluster)\" can't name a cluster: give a name without a slash.")
        }
        keys = EtcdKeys(cluster: options.cluster)
        client = try EtcdClient(options)
        security = options.security
        (tryLimit, watchLimit) = (options.tryLimit, options.watchLimit)
        mostLookedThrough = options.mostLookedThrough
    }

    /// The number of requests that were sent to etcd, those of watches included.
    public var requestCount: Int { client.requestCount }

    /// Reads the files of the certificates again, and uses them for the requests that begin from now on.
    ///
    /// - Throws: ``StoreError`` with the code ``StoreError/Code/unusable`` when a file can't be read, or isn't what it's for; the former
    ///   certificates stay in use then.
    public func renew() async throws(StoreError) {
        let result: Result<EtcdCertificates, StoreError>
        do throws(BlockingCalls.Failure) {
            result = try await BlockingCalls.shared.run("etcd's certificates") { [security] in
                Result { () throws(StoreError) in try EtcdCertificates(security) }
            }
        } catch {
            throw StoreError(code: .unusable, message: "Could not read the certificates for etcd: \(error).")
        }
        try client.use(try result.get())
    }

    /// Uses certificates that the caller has read, and a password, for the requests that begin from now on.
    package func use(_ certificates: EtcdCertificates, password: String? = nil) throws(StoreError) {
        try client.use(certificates, password: password)
    }

    /// Closes the connections: watches end, and calls that are under way fail.
    public func close() async { await client.close() }

    /// Returns the changes after a revision, by as many connections as it takes, one after the other.
    public func watch(_ range: StoreRange, after revision: StoreRevision) -> StoreWatch {
        StoreWatch { [client, keys, tryLimit, watchLimit, mostLookedThrough] in
            EtcdWatch(
                client: client,
                keys: keys,
                range: range,
                after: revision,
                openLimit: tryLimit,
                idleLimit: watchLimit,
                mostLookedThrough: mostLookedThrough
            )
        }
    }
}
