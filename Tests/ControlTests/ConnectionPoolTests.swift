import ConcurrencySupport
import NNG
import Processes
import TestSupport
import Testing
import WireProtocol

@testable import Control
@testable import coordinatorctl

@Suite("The connections of coordinatorctl bench", .timeLimit(minutes: 1))
struct ConnectionPoolTests {
    private static let ask = ControlOperation.ask(path: "/a", message: "M", payload: [:], timeout: .seconds(20))

    @Test("Asks one after the other need one connection, whatever the concurrency")
    func one() async throws {
        try await withServer { directory, _ in
            let pool = ConnectionPool(to: directory, concurrency: 4_096)
            #expect(pool.count == 0)
            for _ in 0..<10 { _ = try await pool.call(.ping) }
            #expect(pool.count == 1)
            pool.close()
        }
    }

    @Test("Asks at a time share connections, and no connection has more than its share")
    func several() async throws {
        let arrived = Lock(0)
        let release = OneShot<Void>()
        let handler = FakeHandler { _ in
            arrived.withLock { $0 += 1 }
            _ = await release.valueUnlessCancelled()
            return .success(["duration_us": 1])
        }
        try await withServer(handler) { directory, _ in
            let count = ConnectionPool.asksPerConnection * 2 + 1
            let pool = ConnectionPool(to: directory, concurrency: count)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<count { group.addTask { _ = try await pool.call(Self.ask) } }
                try await eventually("all asks have arrived") { arrived.withLock { $0 } == count }
                release.settle()
                try await group.waitForAll()
            }
            #expect(pool.count == 3)
            pool.close()
        }
    }

    @Test("A connection that the daemon has ended because it was idle is replaced, and the ask doesn't fail")
    func idle() async throws {
        try await withServer(limiting: { $0.idleTimeout = .milliseconds(50) }) { directory, _ in
            let pool = ConnectionPool(to: directory, concurrency: 1)
            for _ in 0..<2 {
                _ = try await pool.call(.ping)
                try await eventually("the idle connection has ended") { pool.livingCount == 0 }
            }
            pool.close()
        }
    }

    /// Those that keep a connection for the next request.
    enum Keeper: CaseIterable, Sendable {
        case pool, console, command, commands

        func ping(_ directory: RuntimeDirectory) async throws -> JSONValue {
            switch self {
            case .pool:
                let pool = ConnectionPool(to: directory, concurrency: 1)
                defer { pool.close() }
                return try await pool.call(.ping)
            case .console: return try await DaemonConnection(directory).call(.ping)
            case .command:
                return try await blocking {
                    var client = try BlockingControlClient(runtimeDirectory: directory, timeout: .seconds(50))
                    return try client.call(.ping, timeout: .seconds(50))
                }
            case .commands:
                return try await blocking {
                    var client = try BlockingControlClient(runtimeDirectory: directory, timeout: .seconds(50))
                    return try client.call(all: [.ping])[0].get()
                }
            }
        }
    }

    @Test(
        "A request that the daemon hasn't carried out is made again on another connection",
        arguments: Keeper.allCases,
        ["idle", "upgrading"]
    )
    func repeated(_ keeper: Keeper, _ code: String) async throws {
        let temporary = try TemporaryDirectory()
        let directory = RuntimeDirectory(path: temporary.path)
        let listener = try RawSocket(listeningAt: directory.controlSocket)
        async let answer = keeper.ping(directory)
        for isEnd in [true, true, false] {
            let connection = try await listener.accept()
            try await connection.write(RawSocket.greeting)
            _ = try await connection.read(RawSocket.greeting.count)
            if isEnd {
                // At once, so that the request crosses it, and nothing but the reason is left to be read.
                let end = #"{"v":1,"error":{"code":"\#(code)","message":"end"}}"#
                try await connection.write(RawSocket.message(Array(end.utf8)), thenClose: true)
                continue
            }
            let length = try await connection.read(PairFraming.headerLength).dropFirst().reduce(0) { $0 << 8 | Int($1) }
            let request = try ControlRequest(json: ControlJSON.parse(await connection.read(length)))
            let reply = ControlAnswer(id: request.id, .result("pong"))
            try await connection.write(RawSocket.message(ControlJSON.bytes(of: reply.json)))
            #expect(try await answer == "pong")
        }
    }

    @Test("A request that an idle connection's end has crossed wasn't carried out")
    func crossed() async throws {
        let handler = FakeHandler()
        try await withServer(handler, limiting: { $0.idleTimeout = .zero }) { directory, _ in
            var answered = 0
            for _ in 0..<100 {
                guard let client = try? await RawClient(directory) else { continue }
                try? await client.say(#"{"v":1,"id":1,"op":"ping"}"#)
                var answers: [String] = []
                while let answer = try? await client.hear() { answers.append(answer) }
                // What was carried out is answered before the reason of the end.
                answered += answers.prefix { !$0.contains("idle") }.count
            }
            #expect(handler.operations.count == answered)
        }
    }

    @Test("A daemon that isn't there is a final failure")
    func unreachable() async throws {
        let temporary = try TemporaryDirectory()
        let pool = ConnectionPool(to: RuntimeDirectory(path: temporary.path), concurrency: 1)
        do throws(LoadFailure) {
            _ = try await pool.call(.ping)
            Issue.record("a daemon has answered")
        } catch {
            #expect(error.isFinal && error.error.code == .unreachable)
        }
    }
}
