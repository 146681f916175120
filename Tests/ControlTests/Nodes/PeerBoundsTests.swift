import ConcurrencySupport
import NNG
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control

/// What one peer can take of a node: each resource has a bound in bytes or in number, and a share for each peer; so another one is served.
@Suite("The bounds of peers", .timeLimit(minutes: 2))
struct PeerBoundsTests {
    /// What a greedy operator takes, beside whom another node asks for the same.
    enum Resource: String, CaseIterable, Sendable {
        case unfinishedRequests, openRequests, unreadAnswers, keptAnswers, names
    }

    private static let text = String(repeating: "x", count: 100_000)

    private static func ask(_ message: String, _ text: String = text) -> ControlOperation {
        .ask(path: "/shop", message: message, payload: .string(text), timeout: .seconds(30))
    }

    /// What an operator sends, whole or in part.
    private static func message(_ id: Int64, _ message: String) throws -> [UInt8] {
        RawSocket.message(try ControlJSON.bytes(of: ControlRequest(id: id, operation: ask(message), requestID: "greedy \(id)").json))
    }

    private static func limits(_ resource: Resource) -> ConnectionLimits {
        var limits = ConnectionLimits()
        (limits.maximumUnfinishedBytes, limits.maximumUnreadBytes, limits.maximumKeptBytes) = (512 << 10, 1 << 20, 1 << 20)
        if resource == .openRequests { limits.maximumOpenBytes = 512 << 10 }
        return limits
    }

    @Test(arguments: Resource.allCases)
    func aGreedyOperator(_ resource: Resource) async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            let limits = Self.limits(resource)
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates, budgets: limits))
            #expect(try await a.call(Self.ask("Echo"), of: b, requestID: "modest") == .string(Self.text))
            var sockets: [RawSocket] = []
            func connect() async throws -> RawSocket {
                let socket = try RawSocket(b.socket)
                sockets.append(socket)
                try await socket.write(RawSocket.greeting)
                _ = try await socket.read(RawSocket.greeting.count)
                return socket
            }
            let (budgets, directory) = (b.server.budgets, RuntimeDirectory(path: String(b.socket.dropLast("/control.sock".count))))
            switch resource {
            case .unfinishedRequests:
                let half = Array(try Self.message(1, "Never").dropLast(100))
                for _ in 0..<20 { try await connect().write(half) }
                #expect(await eventually { sockets.count { $0.isClosed } >= 15 }, "the oldest haven't given way")
                #expect(budgets.unfinished.sum <= limits.maximumUnfinishedBytes)
                #expect(sockets.last?.isClosed == false)
            case .openRequests:
                let socket = try await connect()
                for id in 1...20 as ClosedRange<Int64> { try await socket.write(try Self.message(id, "Never")) }
                #expect(await eventually { b.requests.count == 3 && budgets.open.sum > limits.maximumOpenBytes / 4 })
                #expect(budgets.open.sum <= limits.maximumOpenBytes / 2)
            case .unreadAnswers:
                let socket = try await connect()
                for id in 1...20 as ClosedRange<Int64> { try await socket.write(try Self.message(id, "Echo")) }
                #expect(await eventually { b.requests.count >= 20 && budgets.unread.sum > limits.maximumUnreadBytes / 4 })
                #expect(budgets.unread.sum <= limits.maximumUnreadBytes / 2)
            case .keptAnswers:
                let client = try await ControlClient.connect(runtimeDirectory: directory)
                for number in 0..<20 { _ = try await client.call(Self.ask("Echo"), requestID: "greedy \(number)") }
                #expect(b.server.ledger.bytes <= limits.maximumKeptBytes)
                let count = b.requests.count
                let repeated = await failure { () throws(ControlError) in try await client.call(Self.ask("Echo"), requestID: "greedy 0") }
                #expect(repeated?.message.contains("isn't kept") == true && b.requests.count == count, "\(String(describing: repeated))")
                // What the node has asked for isn't the operator's to push out.
                #expect(try await a.call(Self.ask("Echo"), of: b, requestID: "modest") == .string(Self.text))
                #expect(b.requests.count == count)
                client.close()
            case .names:
                let client = try await ControlClient.connect(runtimeDirectory: directory)
                for operation in [Self.ask(Self.text), .status(path: "/\(Self.text)"), .drain(node: Self.text, isDraining: true)] {
                    let refusal = await failure { () throws(ControlError) in try await client.call(operation) }
                    #expect(refusal?.code == .invalidRequest)
                }
                client.close()
            }
            // Another one is served, with the same.
            #expect(try await a.call(Self.ask("Echo"), of: b, requestID: "another") == .string(Self.text))
            withExtendedLifetime(sockets) {}
        }
    }

    /// Each purpose × each other purpose: who has as many connections for one as may be has room for another all the same.
    @Test func connectionsOfEachPurpose() async throws {
        let certificates = try await Certificates("a", "b")
        let purposes: [NodeGreeting.Purpose] = [.messages, .requests, .streams]
        try await TestCluster.with { cluster in
            var limits = NodeListener.Limits.patient
            (limits.messages, limits.requests, limits.streams) = (2, 2, 2)
            // Without pings, and whatever comes: the server gives silent connections up after five seconds.
            let a = try cluster.node("a", certificates)
            for greedy in purposes {
                let b = try cluster.node("b", certificates, limits: limits)
                func connect(_ purpose: NodeGreeting.Purpose) async -> PairConnection? {
                    try? await a.links.connect(to: "b", at: b.listener.address, for: purpose)
                }
                // A dial on a busy machine may be late, and is repeated then.
                var kept: [PairConnection] = []
                func keep(_ purpose: NodeGreeting.Purpose) async throws {
                    let count = kept.count
                    try await eventually("\(greedy) leave room for \(purpose)") {
                        if let connection = await connect(purpose) { kept.append(connection) }
                        return kept.count > count
                    }
                }
                for _ in 0..<2 { try await keep(greedy) }
                let refusal = "a: it has 2 connections for \(greedy.rawValue)"
                try await eventually("a third one for \(greedy) is refused") {
                    #expect(await connect(greedy) == nil)
                    return b.refusals.contains(refusal)
                }
                for other in purposes where other != greedy { try await keep(other) }
                for connection in kept { connection.close() }
            }
        }
    }

    /// A crowd that proves nothing gives way to itself: who comes from another address stays.
    @Test func crowdsOfOneAddress() async throws {
        let certificates = try await Certificates("a", "b")
        try await TestCluster.with { cluster in
            var limits = NodeListener.Limits.patient
            (limits.unproved, limits.greeting) = (8, .seconds(3_600))
            let (a, b) = (try cluster.node("a", certificates), try cluster.node("b", certificates, limits: limits))
            let port = b.listener.address.port
            let modest = try RawSocket(port: port)
            var crowd: [RawSocket] = []
            for _ in 0..<40 { crowd.append(try RawSocket(port: port, from: "127.0.0.2")) }
            #expect(await eventually { crowd.count { $0.isClosed } == 33 })
            #expect(!modest.isClosed)
            #expect(await a.failure(.status(path: "/"), of: b) == nil)
            #expect(!modest.isClosed)
            withExtendedLifetime(crowd) {}
        }
    }
}
