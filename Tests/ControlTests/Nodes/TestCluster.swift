import ConcurrencySupport
import NNG
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// What a store would know of the nodes of a test.
final class TestCluster: Sendable {
    static let token = "a secret of the tests"
    static let origin = RequestOrigin(processID: 77, userID: 1001, user: "jane", command: "coordinatorctl", epoch: 5)

    /// The registered addresses.
    let addresses = Lock<[String: NodeAddress]>([:])
    private let directory: TemporaryDirectory
    private let group = OwnedTasks()

    private init() throws { directory = try TemporaryDirectory() }

    static func with(_ body: (TestCluster) async throws -> Void) async throws {
        let cluster = try TestCluster()
        do {
            try await body(cluster)
        } catch {
            await cluster.group.end()
            throw error
        }
        await cluster.group.end()
    }

    /// An identity whose certificate, and the key of it, are by default those of its name.
    static func identity(
        _ name: String,
        _ certificates: Certificates,
        certificate: String? = nil,
        key: String? = nil,
        authority: Certificates? = nil,
        cluster: String = "tests",
        token: String = TestCluster.token,
        hasList: Bool = false
    ) throws -> NodeIdentity {
        NodeIdentity(
            cluster: cluster,
            name: name,
            token: token,
            authority: try (authority ?? certificates).text("ca.crt"),
            certificate: try certificates.text("\(certificate ?? name).crt"),
            key: try certificates.text("\(key ?? certificate ?? name).key"),
            revocations: hasList ? try certificates.text("ca.crl") : nil
        )
    }

    /// Begins a node, whose address is registered under its name.
    func node(
        _ name: String,
        _ certificates: Certificates,
        certificate: String? = nil,
        authority: Certificates? = nil,
        cluster: String = "tests",
        token: String = TestCluster.token,
        limits: NodeListener.Limits = .patient,
        times: NodeLinks.Times = .patient,
        budgets: ConnectionLimits = ConnectionLimits(),
        isRegistered: Bool = true
    ) throws -> TestNode {
        let identity = try Self.identity(name, certificates, certificate: certificate, authority: authority, cluster: cluster, token: token)
        let socket = directory.file("\(UInt32.random(in: .min ... .max))/control.sock")
        let node = try TestNode(identity, socket, limits, times, budgets) { [self] name in addresses.withLock { $0[name] } }
        if isRegistered { addresses.withLock { $0[name] = node.listener.address } }
        group.add { await node.run() }
        return node
    }
}

/// A node in this process, with a real listener, real connections, and a handler that notes what is requested.
final class TestNode: Sendable {
    struct Request: Hashable {
        var operation: ControlOperation
        var requester: Requester
    }

    let identity: NodeIdentity
    let listener: NodeListener
    let links: NodeLinks
    let server: ControlServer
    let socket: String
    private let state: SharedState

    private final class SharedState: Sendable {
        let requests = Lock<[Request]>([])
        let answers = Lock<[Result<JSONValue, ControlError>]>([])
        let reports = Lock<[NodeLinkReport]>([])
    }

    private struct Handler: ControlHandler {
        let state: SharedState

        func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue {
            state.requests.withLock { $0.append(Request(operation: operation, requester: requester)) }
            let ask = operation.content as? ControlOperation.Ask
            if ask?.message == "Never" { try? await untilCancelled() }
            if let ask, ask.message == "Echo" { return ask.payload }
            let answer = state.answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            return try answer?.get() ?? ["op": .string(operation.name)]
        }

        func stream(
            _ operation: ControlOperation,
            from requester: Requester,
            to items: ItemWriter
        ) async throws(ControlError) -> JSONValue {
            state.requests.withLock { $0.append(Request(operation: operation, requester: requester)) }
            if operation.name == "events" { try? await untilCancelled() }
            for number in 0..<3 as Range<Int64> { try await items.send([.integer(number)]) }
            return ["last": 2]
        }
    }

    init(
        _ identity: NodeIdentity,
        _ socket: String,
        _ limits: NodeListener.Limits,
        _ times: NodeLinks.Times,
        _ budgets: ConnectionLimits,
        addresses: @escaping @Sendable (String) async -> NodeAddress?
    ) throws {
        let (state, dials) = (SharedState(), NodeDials())
        let report = { @Sendable (report: NodeLinkReport) in state.reports.withLock { $0.append(report) } }
        (self.identity, self.socket, self.state) = (identity, socket, state)
        let place = try #require(NodeAddress("127.0.0.1:0"))
        listener = try NodeListener(at: place, as: identity, dials: dials, limits: limits, addresses: addresses, report: report)
        links = NodeLinks(as: identity, dials: dials, times: times, report: report)
        server = ControlServer(path: socket, handler: Handler(state: state), limits: budgets)
        try server.listen()
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [server] in try? await server.run() }
            await listener.run(serving: server) { connection, _ in _ = try? await connection.receive() }
            server.close()
            await links.end()
        }
    }

    /// What this node was requested to do.
    var requests: [Request] { state.requests.withLock { $0 } }

    var reports: [NodeLinkReport] { state.reports.withLock { $0 } }

    /// Whom this node has refused, and why.
    var refusals: [String] {
        reports.compactMap { if case .refused(let node, let reason) = $0 { "\(node ?? "nobody"): \(reason)" } else { nil } }
    }

    /// Sets what the next requests are answered with.
    func answer(_ answers: Result<JSONValue, ControlError>...) { state.answers.withLock { $0 = answers } }

    /// Has another node carry out an operation.
    func call(
        _ operation: ControlOperation,
        of node: TestNode,
        as name: String? = nil,
        requestID: String? = nil
    ) async throws(NodeLinks.Failure) -> JSONValue {
        try await links.call(
            operation,
            of: name ?? node.identity.name,
            at: node.listener.address,
            requestID: requestID,
            origin: TestCluster.origin,
            patience: .seconds(60)
        )
    }

    /// Has another node carry out an operation, and returns why that failed.
    func failure(_ operation: ControlOperation, of node: TestNode, as name: String? = nil) async -> NodeLinks.Failure? {
        do throws(NodeLinks.Failure) {
            _ = try await call(operation, of: node, as: name)
            return nil
        } catch {
            return error
        }
    }
}

// A machine that stands still for a while is no reason for a test to fail.

extension NodeListener.Limits {
    static var patient: Self {
        var limits = Self()
        limits.greeting = .seconds(60)
        return limits
    }
}

extension NodeLinks.Times {
    static var patient: Self {
        var times = Self()
        times.greeting = .seconds(60)
        return times
    }
}
