import ConcurrencySupport
import NNG
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// Those who aren't what they claim to be: they get nothing, and are told nothing.
@Suite("Strangers among nodes", .timeLimit(minutes: 2))
struct NodeStrangerTests {
    private let status = ControlOperation.status(path: "/")

    private func expectRefusal(
        of stranger: TestNode,
        by node: TestNode,
        _ reason: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        guard case .notSent(let error)? = await stranger.failure(status, of: node) else {
            Issue.record("the stranger wasn't refused", sourceLocation: sourceLocation)
            return
        }
        // The end of the connection may overtake the reason for which the handshake has failed.
        #expect([.notPermitted, .unreachable].contains(error.code), "\(error.message)", sourceLocation: sourceLocation)
        let isRefused = await eventually {
            // A dial that has failed is repeated after a pause.
            _ = await stranger.failure(status, of: node)
            return node.refusals.contains { $0.contains(reason) }
        }
        #expect(isRefused, "\(node.refusals)", sourceLocation: sourceLocation)
        #expect(node.requests.isEmpty, sourceLocation: sourceLocation)
    }

    @Test func anotherTokenClusterOrAuthority() async throws {
        let (certificates, others) = (try await Certificates("a", "b"), try await Certificates("a"))
        try await TestCluster.with { cluster in
            let b = try cluster.node("b", certificates)
            let token = try cluster.node("a", certificates, token: "another secret of them")
            await expectRefusal(of: token, by: b, "a: it has another token")
            let shorter = try cluster.node("a", certificates, token: String(TestCluster.token.dropLast()))
            await expectRefusal(of: shorter, by: b, "a: it has another token")
            let another = try cluster.node("a", certificates, cluster: "another")
            await expectRefusal(of: another, by: b, "a: it's of another cluster")
            let authority = try cluster.node("a", others, authority: certificates)
            await expectRefusal(of: authority, by: b, "nobody: no handshake")
            // It would let anyone in, but nobody who checks talks to it.
            let open = try cluster.node("c", others, certificate: "a", authority: certificates)
            let a = try cluster.node("a", certificates)
            #expect(await a.failure(status, of: open, as: "b") != nil)
            #expect(open.requests.isEmpty)
            #expect(await a.failure(status, of: b) == nil)
        }
    }

    @Test func anExpiredCertificate() async throws {
        let certificates = try await Certificates("a", "b", "c")
        try await TestCluster.with { cluster in
            let b = try cluster.node("b", certificates)
            try await certificates.expire("a")
            try await certificates.expire("c")
            await expectRefusal(of: try cluster.node("a", certificates), by: b, "nobody: no handshake")
            let c = try cluster.node("c", certificates)
            guard case .notSent(let error)? = await b.failure(status, of: c) else {
                Issue.record("the expired node was believed")
                return
            }
            #expect(error.code == .notPermitted && error.message.contains("don't trust each other's certificates"))
            #expect(c.requests.isEmpty)
        }
    }

    /// The certificate is good, the token too, but the name is another node's: it's asked, and hasn't dialled.
    @Test func anotherNodesName() async throws {
        let certificates = try await Certificates("a", "b", "c")
        try await TestCluster.with { cluster in
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates))
            let thief = try cluster.node("a", certificates, certificate: "c", isRegistered: false)
            await expectRefusal(of: thief, by: b, "a: the node of that name says that it hasn't dialled this one")
            #expect(await eventually { a.refusals.contains("b: it asks about a dial that there isn't") })
            // Also when the registered address is the thief's: its certificate has another name.
            cluster.addresses.withLock { $0["a"] = thief.listener.address }
            await expectRefusal(of: thief, by: b, "a: the node of that name can't be asked")
        }
    }

    /// A node that was dialled passes the number on to a third one, to be taken for the dialler.
    @Test func aNumberThatWasPassedOn() async throws {
        let certificates = try await Certificates("a", "b", "m")
        try await TestCluster.with { cluster in
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates))
            let security = try TestCluster.identity("m", certificates).security
            let listener = try StreamListener("tls+tcp://127.0.0.1:0", security: security)
            let place = NodeAddress(host: "127.0.0.1", port: UInt16(try #require(listener.port)))
            let call = Task { try await a.links.call(status, of: "m", at: place, requestID: nil, origin: TestCluster.origin) }
            let dialled = try await PairConnection.negotiate(listener.accept())
            let hello = try await dialled.receive()
            let greeting = try #require(NodeGreeting(bytes: hello))
            #expect(greeting.kind == .hello && greeting.node == "a")
            let replay = try await PairConnection.dial(b.listener.address.url, security: (security, "b"))
            try await replay.send(hello)
            #expect((try? await replay.receive()) == nil, "it was told something")
            #expect(await eventually { b.refusals.contains { $0.contains("hasn't dialled this one") } })
            dialled.close()
            #expect((try? await call.value) == nil)
            // What it was never dialled for isn't confirmed either.
            let question = try await PairConnection.dial(a.listener.address.url, security: (security, "a"))
            var asked = greeting
            (asked.kind, asked.node) = (.question, "m")
            try await question.send(asked.bytes)
            #expect((try? await question.receive()) == nil)
        }
    }

    @Test func whatSpeaksSomethingElse() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            let b = try cluster.node("b", certificates)
            let security = try TestCluster.identity("a", certificates).security
            let identity = b.identity
            var later = NodeGreeting(.hello, by: identity, number: "1")
            later.version = NodeGreeting.currentVersion + 1
            for message in [
                Array(#"{"v":1,"id":1,"op":"tree"}"#.utf8), [], later.bytes, NodeGreeting(.welcome, by: identity, number: "1").bytes,
                [UInt8](repeating: 0x20, count: NodeGreeting.maximumSize + 1),
            ] {
                let connection = try await PairConnection.dial(b.listener.address.url, security: (security, "b"))
                try await connection.send(message)
                #expect((try? await connection.receive()) == nil)
            }
            #expect(b.requests.isEmpty)
            #expect(await eventually { b.refusals.count >= 4 })
        }
    }

    /// Those who say nothing don't keep the others out, and don't stay.
    @Test func silentCrowds() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            var limits = NodeListener.Limits.patient
            (limits.unproved, limits.greeting) = (8, .seconds(3_600))
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates, limits: limits))
            var crowd: [RawSocket] = []
            for _ in 0..<40 { crowd.append(try RawSocket(port: b.listener.address.port)) }
            #expect(await a.failure(status, of: b) == nil)
            // All but as many as may stay have given way.
            #expect(await eventually { crowd.count { $0.isClosed } >= 32 })
            limits.greeting = .milliseconds(500)
            let c = try cluster.node("c", certificates, certificate: "b", limits: limits)
            let silent = try await ByteStream.dial("tcp://\(c.listener.address)")
            while (try? await silent.receive(upTo: 1000)) != nil {}
            #expect(await eventually { c.refusals == ["nobody: no handshake: \(NNGError.Code.timedOut)"] })
        }
    }

    @Test func addresses() {
        for text in ["10.0.0.1:7400", "node-a.example:1", "[fd00::1]:65535"] { #expect(NodeAddress(text)?.description == text) }
        for text in ["", "a", ":1", "a:", "a:65536", "a/b:1", "a:1/c", "fd00::1:1", "[::1]", "a b:1"] {
            #expect(NodeAddress(text) == nil, "\(text)")
        }
        #expect(NodeAddress("0.0.0.0:1")?.isWildcard == true && NodeAddress("[::]:1")?.isWildcard == true)
    }

    @Test func secretsAreNotPrinted() async throws {
        let certificates = try await Certificates("a")
        try await TestCluster.with { cluster in
            let a = try cluster.node("a", certificates)
            var text = "\(a.identity) \(String(reflecting: a.identity))"
            dump(a.identity, to: &text)
            #expect(!text.contains(TestCluster.token) && !text.contains("PRIVATE"))
        }
    }
}
