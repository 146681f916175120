import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration
import Logging
import Processes

/// The node's connections to other nodes, in both directions.
final class ClusterLinks: Sendable {
    /// The connections on which this node passes requests on.
    let links: NodeLinks
    private let place: NodeAddress
    private let address: NodeAddress?
    private let dials = NodeDials()
    private let reports: LinkReports
    private let listener = Lock<NodeListener?>(nil)

    /// - Parameter files: What the files for other nodes have.
    init(_ settings: ClusterConfiguration.Links, _ files: ClusterFiles.Contents, cluster: String, node: String, logger: Logger)
        throws(ProcessError)
    {
        let identity = NodeIdentity(files, cluster: cluster, node: node)
        guard let place = NodeAddress(settings.listen) else { throw Self.failure("`listen` is no host and port: \(settings.listen)") }
        self.place = place
        address = settings.address.flatMap { NodeAddress($0) }
        let reports = LinkReports(logger)
        self.reports = reports
        links = NodeLinks(as: identity, dials: dials) { reports.log($0) }
    }

    private static func failure(_ message: String) -> ProcessError {
        ProcessError(code: .invalidSpecification, errno: 0, message: message)
    }

    /// Uses other certificates and another token for new connections; those that there are stay, except those of nodes that are now revoked.
    ///
    /// - Throws: `.badConfiguration` when no other node would believe them.
    func use(_ files: ClusterFiles.Contents) async throws(ControlError) {
        let former = links.identity
        let next = NodeIdentity(files, cluster: former.cluster, node: former.name)
        try await next.tryOut()
        try listener.withLock { $0 }?.use(next)
        links.use(next)
    }

    /// Begins to listen.
    ///
    /// - Parameter addresses: Returns the address that the store has of a node.
    func listen(_ addresses: @escaping @Sendable (String) async -> NodeAddress?) throws(ControlError) {
        let listener = try NodeListener(at: place, as: links.identity, dials: dials, addresses: addresses) { [reports] in
            reports.log($0)
        }
        self.listener.withLock { $0 = listener }
    }

    /// The address at which other nodes reach this one; empty: it doesn't listen.
    var registeredAddress: String {
        guard let listener = listener.withLock({ $0 }) else { return "" }
        return (address ?? listener.address).description
    }

    /// Takes what other nodes pass on, and the messages of their coordinators, until the task is cancelled.
    func run(serving server: ControlServer, messages: @escaping NodeListener.Messages) async {
        await listener.withLock { $0 }?.run(serving: server, messages: messages)
    }

    /// Closes all connections to other nodes.
    func end() async {
        listener.withLock { $0 }?.close()
        await links.end()
    }
}

extension NodeIdentity {
    fileprivate init(_ files: ClusterFiles.Contents, cluster: String, node: String) {
        self.init(
            cluster: cluster,
            name: node,
            token: files.secret(.linkToken) ?? "",
            authority: files.text(.linkAuthority) ?? "",
            certificate: files.text(.linkCertificate) ?? "",
            key: files.text(.linkKey) ?? "",
            revocations: files.text(.linkRevocations)
        )
    }
}

/// The log of what happens with connections between nodes.
private final class LinkReports: Sendable {
    private let logger: Logger
    /// Those of all strangers together: each says what it likes about who it is.
    private let refusals = Violations(Violations.Limit(), .monotonic)

    init(_ logger: Logger) { self.logger = logger }

    func log(_ report: NodeLinkReport) {
        switch report {
        case .accepted(let node): logger.info("another node passes requests on to this one", metadata: ["peer": "\(node)"])
        case .connected(let node): logger.info("the node can pass requests on to another one", metadata: ["peer": "\(node)"])
        case .disconnected(let node, let reason):
            logger.info("the connection to another node is closed", metadata: ["peer": "\(node)", "reason": "\(reason)"])
        case .failed(let node, let reason):
            logger.warning("another node can't be reached", metadata: ["peer": "\(node)", "error": "\(reason)"])
        case .refused(let node, let reason): refused(node, reason)
        }
    }

    private func refused(_ node: String?, _ reason: String) {
        var metadata: Logger.Metadata = ["reason": "\(reason)"]
        if let node { metadata["claims"] = "\(String(node.map { $0.isASCII && !$0.isNewline ? $0 : "?" }))" }
        refusals.report(by: "strangers") { [logger, metadata] others in
            logger.warning("a connection of a stranger was refused", metadata: metadata.counting(others))
        }
    }
}
