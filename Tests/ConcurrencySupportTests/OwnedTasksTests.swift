import ConcurrencySupport
import TestSupport
import Testing

@Suite struct OwnedTasksTests {
    @Test func ownerWaitsForTasksThatBeginMeanwhile() async {
        let tasks = OwnedTasks()
        let count = Lock(0)
        for _ in 0..<50 {
            tasks.add {
                await Task.yield()
                tasks.add { count.withLock { $0 += 1 } }
            }
        }
        await tasks.waitForAll()
        #expect(count.withLock { $0 } == 50)
    }

    @Test func endCancelsAndWaits() async {
        let tasks = OwnedTasks()
        let never = OneShot<Void>()
        let ended = Lock(0)
        for _ in 0..<50 {
            tasks.add {
                _ = await never.valueUnlessCancelled()
                ended.withLock { $0 += 1 }
            }
        }
        await tasks.end()
        #expect(ended.withLock { $0 } == 50)
    }

    @Test func taskAfterTheEndIsCancelledFromTheStart() async {
        let tasks = OwnedTasks()
        await tasks.end()
        let wasCancelled = OneShot<Bool>()
        tasks.add { wasCancelled.settle(Task.isCancelled) }
        #expect(await wasCancelled.value)
        await tasks.waitForAll()
    }
}
