import ConcurrencySupport
import NNG
import TestSupport
import Testing

/// Not a gate, only a number to look at; the benchmarks compare it with C.
@Suite("Latency", .serialized, .timeLimit(minutes: 1))
struct LatencyTests {
    @Test func pingPong() async throws {
        let rounds = 5000
        let pair = try await Pair()
        let times = Lock<[ContinuousClock.Instant]>([])
        let there = Outbox(pair.accepted)
        let here = Outbox(pair.dialled)
        pair.accepted.start { message in
            there.send(message)
        } onClose: { _ in
        }
        let body = [UInt8](repeating: 1, count: 64)
        await withCheckedContinuation { continuation in
            pair.dialled.start { message in
                let count = times.withLock { times in
                    times.append(.now)
                    return times.count
                }
                if count <= rounds { here.send(message) } else { continuation.resume() }
            } onClose: { _ in
            }
            here.send(body)
        }
        let instants = times.withLock { $0 }
        let trips = zip(instants, instants.dropFirst()).map { $1 - $0 }.sorted()
        print("round trip of 64 bytes within one process: p50 \(trips[rounds / 2]), p99 \(trips[rounds * 99 / 100])")
        #expect(trips.count == rounds)
        pair.close()
    }
}
