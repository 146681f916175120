import ConcurrencySupport
import Synchronization
import TestSupport
import Testing

@Suite struct LockTests {
    @Test func oneThreadAtATimeUsesTheValue() async {
        let lock = Lock((first: 0, second: 0))
        let tasks = OwnedTasks()
        for _ in 0..<8 {
            tasks.add {
                for _ in 0..<10_000 {
                    let isWhole = lock.withLock { value in
                        value.first += 1
                        defer { value.second += 1 }
                        return value.first == value.second + 1
                    }
                    if !isWhole { Issue.record("another thread was in between") }
                }
            }
        }
        await tasks.waitForAll()
        #expect(lock.withLock { $0.first } == 80_000)
        #expect(lock.withLock { $0.second } == 80_000)
    }

    @Test func errorLeavesTheLockFree() throws {
        struct Refusal: Error {}
        let lock = Lock(1)
        #expect(throws: Refusal.self) { try lock.withLock { (_: inout sending Int) throws(Refusal) -> Int in throw Refusal() } }
        #expect(lock.withLock { $0 } == 1)
    }

    @Test func valueEndsWithItsLock() {
        final class Tracked: Sendable {
            let ends: Counter
            init(_ ends: Counter) { self.ends = ends }
            deinit { ends.count.add(1, ordering: .relaxed) }
        }
        final class Counter: Sendable { let count = Atomic(0) }
        let ends = Counter()
        do {
            let lock = Lock<Tracked?>(Tracked(ends))
            lock.withLock { _ in }
        }
        #expect(ends.count.load(ordering: .relaxed) == 1)
    }
}
