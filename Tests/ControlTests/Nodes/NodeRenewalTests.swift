import NNG
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// Nodes that show other certificates than they began with.
@Suite("Renewed certificates of nodes", .timeLimit(minutes: 2))
struct NodeRenewalTests {
    private let status = ControlOperation.status(path: "/")

    @Test func newConnectionsUseThemAndOthersStay() async throws {
        let (certificates, others) = (try await Certificates("a", "b"), try await Certificates("a", "b"))
        try await TestCluster.with { cluster in
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates))
            #expect(await a.failure(status, of: b) == nil)
            try b.listener.use(try TestCluster.identity("b", others))
            b.links.use(try TestCluster.identity("b", others))
            // The link that there is goes on; a stream dials, and the two don't trust each other.
            #expect(await a.failure(status, of: b) == nil)
            let logs = ControlOperation.logs(LogQuery(paths: ["/shop"]))
            func stream() async -> NodeLinks.Failure? {
                do throws(NodeLinks.Failure) {
                    _ = try await a.links.stream(logs, of: "b", at: b.listener.address, origin: TestCluster.origin) { _ in }
                    return nil
                } catch {
                    return error
                }
            }
            guard case .notSent? = await stream() else {
                Issue.record("the former certificates are still in use")
                return
            }
            #expect(await b.failure(status, of: a) != nil)
            try a.listener.use(try TestCluster.identity("a", others))
            a.links.use(try TestCluster.identity("a", others))
            #expect(await stream() == nil)
            let isConnected = await eventually { await b.failure(status, of: a) == nil }
            #expect(isConnected)
            // The peer with which a node makes its listener take the new ones isn't anyone who was refused.
            #expect(a.refusals.allSatisfy { $0.contains("no handshake") })
        }
    }

    /// A node whose certificate was revoked is left at once, in both directions.
    @Test func whoIsRevokedLosesItsConnections() async throws {
        let certificates = try await Certificates("a", "b", "c")
        try await TestCluster.with { cluster in
            let (a, b, c) = (
                try cluster.node("a", certificates), try cluster.node("b", certificates), try cluster.node("c", certificates)
            )
            let status = ControlOperation.status(path: "/shop")
            for (one, other) in [(a, b), (b, a), (c, b), (b, c)] { #expect(await one.failure(status, of: other) == nil) }
            // What waits ends with the connection.
            async let ended = a.failure(.ask(path: "/shop", message: "Never", payload: [:], timeout: .seconds(60)), of: b)
            #expect(await eventually { b.requests.contains { $0.operation.name == "ask" } })
            try await certificates.revoke("a")
            let next = try TestCluster.identity("b", certificates, hasList: true)
            try b.listener.use(next)
            guard case .unanswered? = await ended else {
                Issue.record("the connection of a revoked node is still there")
                return
            }
            b.links.use(next)
            for (one, other) in [(b, a), (a, b)] {
                // The end of a connection takes a moment.
                let isRefused = await eventually {
                    guard case .notSent? = await one.failure(status, of: other) else { return false }
                    return true
                }
                #expect(isRefused)
            }
            for (one, other) in [(c, b), (b, c)] { #expect(await one.failure(status, of: other) == nil) }
        }
    }

    @Test func whatNoNodeWouldBelieveIsKnownBefore() async throws {
        let (certificates, others) = (try await Certificates("a", "b"), try await Certificates("a"))
        try await TestCluster.identity("a", certificates).tryOut()
        let another = try TestCluster.identity("c", certificates, certificate: "a")
        let unreadable = NodeIdentity(cluster: "tests", name: "a", token: TestCluster.token, authority: "", certificate: "x", key: "y")
        for (what, identity) in [
            ("another name", another), ("no certificate", unreadable),
            ("another key", try TestCluster.identity("a", certificates, key: "b")),
            ("another authority", try TestCluster.identity("a", others, authority: certificates)),
        ] {
            await #expect(throws: ControlError.self, "\(what)") { try await identity.tryOut() }
        }
        try await certificates.expire("a")
        await #expect(throws: ControlError.self, "expired") { try await TestCluster.identity("a", certificates).tryOut() }
    }
}
