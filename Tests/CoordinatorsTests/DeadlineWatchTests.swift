import ConcurrencySupport
import TestSupport
import Testing

@testable import Coordinators

@Suite("Deadlines of many messages, watched by one timer", .timeLimit(minutes: 1))
struct DeadlineWatchTests {
    @Test("Every ask ends at its own deadline, in whichever order they are made")
    func deadlines() async throws {
        let asks = OpenAsks(.monotonic)
        let start = MonotonicTime.now
        let delays = [400, 50, 300, 100, 100, 200, 60_000]
        let ended = Lock<[Int: Duration]>([:])
        for (index, delay) in delays.enumerated() {
            let asker = Envelope.Asker.function { _ in ended.withLock { $0[index] = MonotonicTime.now - start } }
            let envelope = Envelope(
                .encoded(name: "Message", .json, Payload([])),
                asker: asker,
                sender: "/",
                deadline: start + .milliseconds(Int64(delay))
            )
            envelope.open(in: asks)
        }
        try await eventually("all have ended but the last") { ended.withLock { $0.count } == delays.count - 1 }
        for (index, time) in ended.withLock({ $0 }) { #expect(time >= .milliseconds(Int64(delays[index]))) }
        asks.end(with: .hasStopped("/"), forGood: true)
        #expect(ended.withLock { $0.count } == delays.count)
    }

    @Test("Asks of many threads with ever shorter times lose no deadline")
    func concurrent() async throws {
        let asks = OpenAsks(.monotonic)
        let ended = (0..<2_000).map { _ in OneShot<Void>() }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2_000 {
                group.addTask {
                    let envelope = Envelope(
                        .encoded(name: "Message", .json, Payload([])),
                        asker: .function { _ in ended[number].settle() },
                        sender: "/",
                        deadline: .now + .milliseconds(Int64(200 - number % 200))
                    )
                    envelope.open(in: asks)
                }
            }
        }
        try await eventually("all have ended") { ended.allSatisfy(\.isSettled) }
    }
}
