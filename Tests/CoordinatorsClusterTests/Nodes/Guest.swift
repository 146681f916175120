import Control
import CoordinatorsCluster
import Glibc
import NNG
import TestSupport
import Testing
import WireProtocol

/// A node that the test is: it's registered in the store, and has a certificate and the token.
struct Guest {
    let cluster: RunningCluster
    let links: NodeLinks

    static func with(_ cluster: RunningCluster, _ body: (Guest) async throws -> Void) async throws {
        let certificates = try #require(cluster.certificates)
        let identity = NodeIdentity(
            cluster: cluster.cluster,
            name: "guest",
            token: RunningCluster.token,
            authority: try certificates.text("ca.crt"),
            certificate: try certificates.text("guest.crt"),
            key: try certificates.text("guest.key")
        )
        let dials = NodeDials()
        let listener = try NodeListener(at: try #require(NodeAddress("127.0.0.1:0")), as: identity, dials: dials) { _ in
            nil
        } report: { _ in
        }
        let links = NodeLinks(as: identity, dials: dials) { _ in }
        let server = ControlServer(path: cluster.directory.file("guest/control.sock"), handler: Nothing())
        let record = NodeRecord(name: try #require(NodeName("guest")), address: listener.address.description, isDraining: true)
        try await EtcdMembers.shared.etcdctl(
            "put",
            "/coordinators/\(cluster.cluster)/nodes/guest",
            String(decoding: record.json, as: UTF8.self)
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await listener.run(serving: server) { connection, _ in connection.close() } }
            defer { listener.close() }
            try await body(Guest(cluster: cluster, links: links))
            await links.end()
            listener.close()
            try await group.waitForAll()
        }
    }

    static func address(of name: String, in cluster: RunningCluster) async throws -> NodeAddress? {
        let key = "/coordinators/\(cluster.cluster)/nodes/\(name)"
        let value = try await EtcdMembers.shared.etcdctl("get", key, "--print-value-only")
        return NodeRecord(json: Array(value.utf8)).flatMap { NodeAddress($0.address) }
    }

    /// Has a node carry out an operation that is meant for an epoch, and returns why that failed.
    func failure(_ operation: ControlOperation, _ epoch: UInt64, at name: String) async throws -> NodeLinks.Failure? {
        let address = try #require(try await Self.address(of: name, in: cluster))
        let origin = RequestOrigin(processID: getpid(), userID: geteuid(), epoch: epoch)
        do throws(NodeLinks.Failure) {
            _ = try await links.call(operation, of: name, at: address, requestID: nil, origin: origin)
            return nil
        } catch {
            return error
        }
    }
}

private struct Nothing: ControlHandler {
    func handle(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) -> JSONValue { [:] }
}
