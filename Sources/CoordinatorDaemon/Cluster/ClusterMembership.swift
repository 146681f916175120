import ConcurrencySupport
import Control
import Coordinators
import CoordinatorsCluster
import DaemonConfiguration
import Glibc
import Links
import Logging
import Ownership
import Processes

/// The daemon as a node of a cluster: its children with `placement` run here while the node owns them.
final class ClusterMembership: Sendable {
    let configuration: ClusterConfiguration
    /// The certificates and the secrets.
    let files: ClusterFiles
    let children: ConfiguredChildren
    let runtime: CoordinatorRuntime
    let name: NodeName
    /// The node's connections to other nodes; nil: it has none.
    let links: ClusterLinks?
    /// Where the cluster's children are, for their messages.
    let places: ChildPlaces
    private let store: Store
    private let options: ClusterNode.Options
    private let events: EventLog
    /// Of two renewals the later one counts.
    private let renewals = AsyncLock()
    private let logger: Logger
    /// The node once there is one, and whether it was told to leave.
    private let membership = Lock<(node: ClusterNode?, isLeaving: Bool)>((nil, false))
    /// The node, for those that wait until there is one.
    private let joining = OneShot<ClusterNode>()
    private let server = Lock<ControlServer?>(nil)
    /// What was made known last.
    private let published = Lock<[String: ClusterPlacement]>([:])

    private enum Store {
        case local(LocalStore)
        case etcd(EtcdStore)

        var shared: any ClusterStore {
            switch self {
            case .local(let store): store
            case .etcd(let store): store
            }
        }
    }

    /// The node, as long as the daemon is one.
    var node: ClusterNode? { membership.withLock { $0.node } }

    init(
        _ configuration: ClusterConfiguration,
        _ children: ConfiguredChildren,
        _ runtime: CoordinatorRuntime,
        events: EventLog,
        logger: Logger
    ) throws(ProcessError) {
        self.events = events
        self.configuration = configuration
        self.children = children
        self.runtime = runtime
        let text = configuration.node ?? Self.hostName
        guard let name = NodeName(text) else {
            throw ProcessError(code: .invalidSpecification, errno: 0, message: "\"\(text)\" can't name a node: set `node` in `cluster`")
        }
        self.name = name
        var logger = logger
        logger[metadataKey: "node"] = "\(name)"
        self.logger = logger
        let files = try ClusterFiles(configuration)
        self.files = files
        links = try configuration.links.map { [logger] settings throws(ProcessError) in
            let contents = files.contents(for: .nodes)
            return try ClusterLinks(settings, contents, cluster: configuration.name, node: "\(name)", logger: logger)
        }
        places = ChildPlaces(children, of: name, links?.links)
        store = try Self.store(configuration, files.contents(for: .store))
        options = ClusterNode.Options(
            record: NodeRecord(
                name: name,
                address: "",
                labels: configuration.labels,
                capacity: configuration.capacity ?? 0,
                version: Release.version
            ),
            terms: LeaseTerms(timeToLive: configuration.timeToLive),
            onStoreLoss: configuration.onStoreLoss == .freeze ? .freeze : .fence,
            rebalances: configuration.rebalances,
            logger: logger
        )
        runtime.route(by: places)
        for peer in ClusterFile.Peer.allCases {
            guard let problem = files.failure(for: peer) else { continue }
            report(problem, "certificates of the cluster are of no use any more", .error)
        }
    }

    private static var hostName: String {
        var names = utsname()
        uname(&names)
        // Unsafe: uname(2) ends the text with a zero, within the array.
        let name = withUnsafeBytes(of: &names.nodename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return String(name.prefix { $0 != "." })
    }

    private static func store(_ configuration: ClusterConfiguration, _ files: ClusterFiles.Contents) throws(ProcessError) -> Store {
        do throws(StoreError) {
            switch configuration.store {
            case .directory(let directory):
                try prepare(directory)
                return .local(try LocalStore(epochs: "\(directory)/epochs"))
            case .etcd(let endpoints):
                var options = EtcdOptions(endpoints: endpoints, cluster: configuration.name)
                options.certificates = EtcdCertificates(files)
                options.tryLimit = min(.seconds(1), configuration.timeToLive / 4)
                if let user = configuration.user, let password = files.secret(.storePassword) {
                    options.credentials = .init(user: user, password: password)
                }
                return .etcd(try EtcdStore(options))
            }
        } catch {
            throw ProcessError(code: .invalidSpecification, errno: 0, message: error.message)
        }
    }

    /// Makes the directory of the store, unless there is one; none that another user could replace.
    static func prepare(_ directory: String) throws(StoreError) {
        let failure: String
        do throws(FilePlace.Failure) {
            guard try FilePlace("\(directory)/epochs", for: .epochs).othersMakeFiles else { return }
            failure = "other users may make files in it; name a directory of the daemon's own user"
        } catch {
            failure = error.description
        }
        throw StoreError(code: .unusable, message: "Could not use the store \(directory): \(failure).")
    }

    /// Uses a server, which carries out what other nodes pass on.
    func use(_ server: ControlServer) { self.server.withLock { $0 = server } }

    /// Begins to listen for other nodes.
    ///
    /// - Throws: `.failed` when the address can't be used, or the certificates can't.
    func listen() throws(ControlError) {
        try links?.listen { [weak self] name in await self?.address(of: name) }
    }

    /// The time for which a node that has just joined is waited for, whose key this one may not have seen yet.
    private static let acquaintanceLimit = Duration.seconds(2)

    /// Returns the address that the store has of a node.
    private func address(of text: String) async -> NodeAddress? {
        guard let name = NodeName(text) else { return nil }
        let end = MonotonicTime.now + Self.acquaintanceLimit
        guard let node = await joining.value(before: end) else { return nil }
        return await node.look(until: end) { await node.clusterView.nodes[name] }.flatMap { NodeAddress($0.value.address) }
    }

    /// Is a node until it has left the cluster.
    func run() async {
        var options = options
        options.record.address = links?.registeredAddress ?? ""
        let node = ClusterNode(store.shared, host: self, options: options, changes: places.changes)
        places.trust(node.trust)
        let isLeaving = membership.withLock { membership in
            membership.node = node
            return membership.isLeaving
        }
        joining.settle(node)
        // The shutdown was requested while the tree was being started.
        if isLeaving { await node.leave() }
        let (failures, failed) = AsyncStream<String>.makeStream()
        children.failureObserver.withLock { $0 = { failed.yield($0) } }
        await follow()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await node.run() }
            group.addTask { for await key in failures { await self.giveUp(key, node) } }
            group.addTask { while (try? await Task.sleep(for: Self.lookInterval)) != nil { await self.renew() } }
            await withTaskGroup(of: Void.self) { listening in
                if let links, let server = server.withLock({ $0 }) {
                    listening.addTask {
                        await links.run(serving: server) { await self.runtime.exchangeMessages(on: .over($0), with: $1) }
                    }
                }
                await group.next()
                listening.cancelAll()
            }
            group.cancelAll()
        }
        await runtime.endNodes()
        await links?.end()
        children.failureObserver.withLock { $0 = nil }
        if case .etcd(let store) = store { await store.close() }
    }

    /// Gives everything over and leaves the cluster; returns when that is done, or a second request hastens the shutdown.
    func leave(hastenedBy shutdown: ShutdownSignal) async {
        let node = membership.withLock { membership in
            membership.isLeaving = true
            return membership.node
        }
        guard let node else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await node.leave() }
            group.addTask { await shutdown.hastened() }
            await group.next()
            group.cancelAll()
        }
    }

    /// Makes known which children are to run, after the configuration was changed.
    func follow() async {
        let wanted = Dictionary(children.placedChildren.map { ("/\($0.key)", $0.placement) }) { first, _ in first }
            .compactMapValues(\.self)
        let changes = published.withLock { published in
            var changes: [String: PlacementConstraints?] = [:]
            for path in published.keys where wanted[path] == nil { changes.updateValue(nil, forKey: path) }
            for (path, placement) in wanted where published[path] != placement { changes[path] = PlacementConstraints(placement) }
            published = wanted
            return changes
        }
        await node?.publish(changes)
    }

    /// The time between two looks whether the files of certificates and secrets have changed.
    private static let lookInterval = Duration.seconds(60)

    /// Reads the files of certificates and secrets again, and uses them for new connections.
    ///
    /// Files that can't be used are reported, and what they had before stays in use.
    func renew() async { await renewals.pass { await self.renewEach() } }

    private func renewEach() async {
        for peer in ClusterFile.Peer.allCases {
            let renewal = await files.renew(peer) { contents in
                switch peer {
                case .nodes: try await self.links?.use(contents)
                case .store:
                    guard case .etcd(let store) = self.store else { return }
                    try store.use(EtcdCertificates(contents), password: contents.secret(.storePassword))
                }
            }
            let subject = peer == .store ? "etcd" : "the cluster's links"
            switch renewal {
            case .unchanged: break
            case .inUse: report(nil, "new certificates and secrets of \(subject) are in use", .notice)
            case .failed(let reason, isNew: true):
                report(reason, "the new certificates or secrets of \(subject) can't be used; the former ones stay in use", .error)
            case .failed(_, isNew: false): break
            }
        }
    }

    private func report(_ reason: String?, _ message: String, _ level: Logger.Level) {
        events.append(ControlEvent(kind: .renewal, reason: reason.map { "\(message): \($0)" } ?? message))
        logger.log(level: level, "\(message)", metadata: reason.map { ["error": "\($0)"] } ?? [:])
    }

    private func giveUp(_ key: String, _ node: ClusterNode) async {
        guard let epoch = children.fence(of: key), children.child(key)?.placement != nil else { return }
        let reason = children.lastExit(of: key)
        await stop("/\(key)", drains: false)
        await node.gaveUp("/\(key)", epoch: Epoch(rawValue: epoch), because: reason)
    }
}

// MARK: - Subtrees

extension ClusterMembership: SubtreeHost {
    func start(_ path: String, epoch: Epoch) async throws {
        let key = String(path.dropFirst())
        guard let child = children.child(key), child.placement != nil else {
            throw ControlError(.noSuchPath, "the configuration of this node has no child \(path) with `placement`")
        }
        guard let supervisor = children.supervisor else { throw ControlError(.notRunning, "the tree of this node isn't running") }
        children.own(key, epoch.rawValue)
        do {
            try await supervisor.attempt(child)
            supervisor.arrange()
            places.open(key, epoch: epoch)
        } catch {
            await stop(path, drains: false)
            throw error
        }
    }

    func fence(_ path: String, epoch: Epoch) {
        // Operators' messages are refused from now on, because the node has no epoch for the path; the stop follows at once.
        places.close(String(path.dropFirst()), epoch: epoch)
    }

    func viewChanged(_ view: ClusterView) { places.learn(view) }

    func stop(_ path: String, drains: Bool) async {
        let key = String(path.dropFirst())
        // Messages go to the next owner from now on; those that were taken are handled.
        places.close(key)
        guard let supervisor = children.supervisor else { return }
        let leaves = children.leaves(of: key)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while supervisor.state(of: key) != nil {
                    do { try await supervisor.remove(key) } catch { try? await Task.sleep(for: .milliseconds(10)) }
                }
            }
            if !drains {
                group.addTask {
                    // Not with the time that the child has to end: the next owner may start.
                    while !Task.isCancelled {
                        for leaf in leaves { _ = try? await self.runtime.kill(leaf) }
                        try? await Task.sleep(for: .milliseconds(20))
                    }
                }
            }
            await group.next()
            group.cancelAll()
        }
        children.disown(key)
    }
}

extension PlacementConstraints {
    fileprivate init(_ placement: ClusterPlacement) {
        self.init(labels: placement.labels, group: placement.apart, weight: placement.weight, moves: placement.moves)
    }
}

extension EtcdCertificates {
    fileprivate init(_ files: ClusterFiles.Contents) {
        self.init(
            authority: files.bytes[.storeAuthority],
            certificate: files.bytes[.storeCertificate],
            key: files.bytes[.storeKey],
            revocations: files.bytes[.storeRevocations]
        )
    }
}
