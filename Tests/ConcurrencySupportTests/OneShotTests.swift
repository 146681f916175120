import ConcurrencySupport
import TestSupport
import Testing

@Suite struct OneShotTests {
    @Test func firstOutcomeStands() async {
        let shot = OneShot<Int>()
        #expect(shot.outcome == nil)
        #expect(shot.settle(1))
        #expect(!shot.settle(2))
        #expect(shot.outcome == 1)
        #expect(await shot.value == 1)
        #expect(await shot.valueUnlessCancelled() == 1)
        #expect(await shot.value(before: .now) == 1)
    }

    @Test func allWaitersGetTheOutcome() async {
        let shot = OneShot<Int>()
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<10 {
                group.addTask { await shot.value }
                group.addTask { await shot.valueUnlessCancelled() }
                group.addTask { await shot.value(before: .distantFuture) }
            }
            group.addTask {
                shot.settle(7)
                return 7
            }
            for await outcome in group { #expect(outcome == 7) }
        }
    }

    @Test func waitEndsAtItsTime() async {
        let shot = OneShot<Int>()
        let time = MonotonicTime.now + .milliseconds(20)
        #expect(await shot.value(before: time) == nil)
        #expect(MonotonicTime.now >= time)
        // The waiter that gave up isn't resumed a second time.
        #expect(shot.settle(1))
    }

    @Test func waitEndsWithItsTask() async {
        let shot = OneShot<Int>()
        let waits = OneShot<Void>()
        let task = Task.immediate {
            // Runs up to here at once, and waits then.
            waits.settle()
            return await shot.valueUnlessCancelled()
        }
        await waits.value
        task.cancel()
        #expect(await task.value == nil)
        #expect(shot.settle(1))
    }

    @Test func waitOfACancelledTaskDoesNotBegin() async {
        let shot = OneShot<Int>()
        let mayWait = OneShot<Void>()
        let task = Task {
            await mayWait.value
            return await shot.valueUnlessCancelled()
        }
        task.cancel()
        mayWait.settle()
        #expect(await task.value == nil)
    }

    @Test func outcomeIsThereForACancelledTask() async {
        let shot = OneShot<Int>()
        shot.settle(3)
        let mayWait = OneShot<Void>()
        let task = Task {
            await mayWait.value
            return await shot.valueUnlessCancelled()
        }
        task.cancel()
        mayWait.settle()
        #expect(await task.value == 3)
    }

    @Test func cancellationOfOneWaiterIsNoneOfTheOthers() async {
        let shot = OneShot<Int>()
        let tasks = (0..<10).map { _ in Task.immediate { await shot.valueUnlessCancelled() } }
        for task in tasks.prefix(5) { task.cancel() }
        for task in tasks.prefix(5) { #expect(await task.value == nil) }
        shot.settle(4)
        for task in tasks.dropFirst(5) { #expect(await task.value == 4) }
    }

    /// Each waiter is resumed exactly once, whichever comes first: a second time would trap, none would hang.
    @Test func settlingAndCancellingRace() async {
        for _ in 0..<2_000 {
            let shot = OneShot<Int>()
            await withTaskGroup(of: Void.self) { group in
                let waiter = Task { await shot.valueUnlessCancelled() }
                group.addTask { waiter.cancel() }
                group.addTask { shot.settle(1) }
                group.addTask { _ = await waiter.value }
            }
        }
    }
}
