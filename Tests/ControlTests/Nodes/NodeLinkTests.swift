import ConcurrencySupport
import NNG
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// Requests that nodes pass on to one another.
@Suite("Links between nodes", .timeLimit(minutes: 2))
struct NodeLinkTests {
    @Test func aRequestReachesTheOtherNodeWithItsOrigin() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates))
            let answers = try await withThrowingTaskGroup(of: JSONValue.self) { group in
                for number in 0..<20 { group.addTask { try await a.call(.restart(path: "/shop"), of: b, requestID: "\(number)") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers == Array(repeating: ["op": "restart"], count: 20))
            let passage = Requester.Passage(node: "a", origin: TestCluster.origin)
            #expect(
                Set(b.requests.map(\.requester))
                    == Set(
                        (0..<20).map {
                            Requester(processID: 77, userID: 1001, role: .operate, requestID: "\($0)", passage: passage)
                        }
                    )
            )
            // The requests have shared one connection, and the other direction has its own.
            #expect(a.reports == [.connected(node: "b")] && b.reports == [.accepted(node: "a")])
            #expect(try await b.call(.status(path: "/"), of: a) == ["op": "status"])
            #expect(a.requests.first?.requester.passage?.node == "b")
        }
    }

    @Test func errorsAndStreamsComeBack() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates))
            let error = ControlError(.notHere, "not here", epoch: 9)
            b.answer(.failure(error))
            #expect(await a.failure(.restart(path: "/shop"), of: b) == .answered(error))
            let items = Lock<[JSONValue]>([])
            let operation = ControlOperation.logs(LogQuery(paths: ["/shop"]))
            let end = try await a.links.stream(operation, of: "b", at: b.listener.address, origin: TestCluster.origin) { received in
                items.withLock { $0 += received }
            }
            #expect(items.withLock { $0 } == [0, 1, 2] && end == ["last": 2])
        }
    }

    /// What was refused as `notHere` wasn't done, so that the same request can come again; what was done isn't done twice.
    @Test func aRefusalIsForgottenAndAnOutcomeIsNot() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates))
            b.answer(.failure(ControlError(.notHere, "not yet", epoch: 4)), .success(["first": true]), .success(["second": true]))
            let restart = ControlOperation.restart(path: "/shop")
            #expect((try? await a.call(restart, of: b, requestID: "r")) == nil)
            #expect(try await a.call(restart, of: b, requestID: "r") == ["first": true])
            #expect(try await a.call(restart, of: b, requestID: "r") == ["first": true])
            #expect(b.requests.count == 2)
        }
    }

    @Test func anOpenRequestEndsWithTheConnection() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates))
            let ask = ControlOperation.ask(path: "/shop", message: "Never", payload: [:], timeout: .seconds(50))
            async let failure = a.failure(ask, of: b)
            #expect(await eventually { b.requests.count == 1 })
            let begin = MachineClock.now
            b.listener.close()
            guard case .unanswered(let error)? = await failure else {
                Issue.record("the request has another end")
                return
            }
            #expect(error.message.contains("peerLost") && error.message.contains("unknown"))
            #expect(MachineClock.now - begin < .patient(.seconds(25)))
            // The next request knows that it can't have been carried out.
            guard case .notSent? = await a.failure(ask, of: b) else {
                Issue.record("the request isn't known as unsent")
                return
            }
        }
    }

    /// A connection that isn't needed is closed, and made anew when it's needed.
    @Test func anIdleConnectionIsClosed() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            var times = NodeLinks.Times.patient
            (times.ping, times.idle, times.misses) = (.milliseconds(20), .milliseconds(200), .max)
            let (a, b) = (try cluster.node("a", certificates, times: times), try cluster.node("b", certificates))
            _ = try await a.call(.status(path: "/"), of: b)
            #expect(await eventually { a.reports.contains(.disconnected(node: "b", reason: "no request needs it")) })
            _ = try await a.call(.status(path: "/"), of: b)
            #expect(b.requests.count == 2)
        }
    }

    /// A node that can't be reached is dialled again after pauses that grow, however often it's wanted; requests and messages have their own.
    @Test func dialsThatFailAreFollowedByPauses() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            var times = NodeLinks.Times.patient
            times.longestPause = .seconds(60)
            let (a, b) = (try cluster.node("a", certificates, times: times), try cluster.node("b", certificates))
            b.listener.close()
            let begin = ContinuousClock.now
            var count = 0
            // At 0, 50, 150, 350 ms at the earliest.
            try await eventually("it has been dialled four times") {
                count += 1
                await #expect(throws: ControlError.self) { try await a.links.connectForMessages(to: "b", at: b.listener.address) }
                return a.reports.count == 4
            }
            #expect(ContinuousClock.now - begin >= .milliseconds(350) && count > 4)
            _ = await a.failure(.ps, of: b)
            #expect(a.reports.count == 5)
        }
    }

    /// An operator's program has no origin but its own, whatever it says.
    @Test func anOriginIsBelievedFromNodesAlone() async throws {
        let certificates = try await Certificates("a")
        try await TestCluster.with { cluster in
            let a = try cluster.node("a", certificates)
            let connection = try await PairConnection.dial("ipc://" + a.socket)
            let request = ControlRequest(id: 1, operation: .ps, origin: TestCluster.origin)
            try await connection.send(try ControlJSON.bytes(of: request.json))
            _ = try await connection.receive()
            let requester = try #require(a.requests.first?.requester)
            #expect(requester.passage == nil && requester.userID != TestCluster.origin.userID)
        }
    }
}
