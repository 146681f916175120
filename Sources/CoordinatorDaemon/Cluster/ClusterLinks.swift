import ConcurrencySupport
import Control
import DaemonConfiguration
import Logging
import Processes

/// The node's connections to other nodes, in both directions.
final class ClusterLinks: Sendable {
    /// The connections on which this node passes requests on.
    let links: NodeLinks
    private let settings: ClusterConfiguration.Links
    private let logger: Logger
    private let place: NodeAddress
    private let address: NodeAddress?
    private let dials = NodeDials()
    private let reports: LinkReports
    private let listener = Lock<NodeListener?>(nil)

    init(_ settings: ClusterConfiguration.Links, cluster: String, node: String, logger: Logger) throws(ProcessError) {
        let identity = try Self.identity(settings, cluster: cluster, node: node)
        guard let place = NodeAddress(settings.listen) else { throw Self.failure("`listen` is no host and port: \(settings.listen)") }
        (self.settings, self.logger, self.place) = (settings, logger, place)
        address = settings.address.flatMap { NodeAddress($0) }
        let reports = LinkReports(logger)
        self.reports = reports
        links = NodeLinks(as: identity, dials: dials) { reports.log($0) }
    }

    private static func failure(_ message: String) -> ProcessError {
        ProcessError(code: .invalidSpecification, errno: 0, message: message)
    }

    /// Reads the certificates and the token; may block.
    private static func identity(_ settings: ClusterConfiguration.Links, cluster: String, node: String) throws(ProcessError)
        -> NodeIdentity
    {
        func text(_ file: String?, _ what: String) throws(ProcessError) -> String {
            guard let file, let text = try? DaemonConfiguration.text(path: file) else {
                throw failure("the \(what) of the cluster's links can't be read in \(file ?? "no file")")
            }
            return text
        }
        let token = try text(settings.tokenFile, "token").split(separator: "\n").first.map(String.init) ?? ""
        guard token.utf8.count >= NodeIdentity.minimumTokenLength, token.utf8.count <= NodeIdentity.maximumTokenLength else {
            throw failure(
                "the first line of \(settings.tokenFile) has \(token.utf8.count) bytes; "
                    + "expected a secret of \(NodeIdentity.minimumTokenLength) to \(NodeIdentity.maximumTokenLength)"
            )
        }
        return NodeIdentity(
            cluster: cluster,
            name: node,
            token: token,
            authority: try text(settings.security.authority, "authority"),
            certificate: try text(settings.security.certificate, "certificate"),
            key: try text(settings.security.key, "key")
        )
    }

    /// Reads the certificates and the token again, and uses them for new connections; those that there are stay.
    ///
    /// Files that can't be used are logged, and what they had before stays in use.
    func renew() async {
        let former = links.identity
        let certificate = settings.security.certificate ?? ""
        do {
            let settings = settings
            let action = "read \(settings.tokenFile) and the certificates"
            let next = try await BlockingCalls.shared.run("the cluster's links", action: action) { () throws(ProcessError) in
                try Self.identity(settings, cluster: former.cluster, node: former.name)
            }
            guard next != former else { return }
            try await next.tryOut()
            try listener.withLock { $0 }?.use(next)
            links.use(next)
            logger.notice("new certificates and token of the cluster's links are in use", metadata: ["file": "\(certificate)"])
        } catch {
            let message = (error as? ProcessError)?.message ?? ControlError(error).message
            logger.error(
                "the new certificates or token of the cluster's links can't be used; the former ones stay in use",
                metadata: ["file": "\(certificate)", "error": "\(message)"]
            )
        }
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

/// The log of what happens with connections between nodes.
private final class LinkReports: Sendable {
    private struct Refusals {
        var last: ContinuousClock.Instant?
        var unlogged = 0
    }

    private let logger: Logger
    private let refusals = Lock(Refusals())

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

    /// Logs one refusal a second, with the number of those that weren't: strangers must not fill the log.
    private func refused(_ node: String?, _ reason: String) {
        let unlogged = refusals.withLock { refusals -> Int? in
            if let last = refusals.last, ContinuousClock.now - last < .seconds(1) {
                refusals.unlogged += 1
                return nil
            }
            defer { refusals = Refusals(last: .now) }
            return refusals.unlogged
        }
        guard let unlogged else { return }
        var metadata: Logger.Metadata = ["reason": "\(reason)"]
        if let node { metadata["claims"] = "\(String(node.map { $0.isASCII && !$0.isNewline ? $0 : "?" }))" }
        if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
        logger.warning("a connection of a stranger was refused", metadata: metadata)
    }
}
