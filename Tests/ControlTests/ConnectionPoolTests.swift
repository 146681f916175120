import ConcurrencySupport
import Control
import Processes
import TestSupport
import Testing
import WireProtocol

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
        try await withServer(limiting: { $0.idleTimeout = .seconds(1) }) { directory, _ in
            let pool = ConnectionPool(to: directory, concurrency: 1)
            for _ in 0..<2 {
                _ = try await pool.call(.ping)
                try await eventually("the idle connection has ended") { pool.livingCount == 0 }
            }
            pool.close()
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
