#if !SLOW_PATH_ONLY
import ConcurrencySupport
import Glibc
import TestSupport
import Testing

@Suite("The task that a reading thread runs itself", .serialized, .timeLimit(minutes: 1))
struct ReadingThreadTests {
    @Test("Of the tasks that are begun while a thread reads, it runs the first, once it has read")
    func first() async {
        let threads = await onThread { thread in
            var tasks: [Task<pthread_t, Never>] = []
            ReadingThread.afterReading {
                #expect(ReadingThread.isFree)
                for _ in 0..<3 { tasks.append(thread.task()) }
                #expect(!ReadingThread.isFree)
            }
            return (thread.number, tasks)
        }
        let (number, tasks) = threads
        #expect(await tasks[0].value == number)
        for task in tasks[1...] { #expect(await task.value != number) }
    }

    @Test("What is handled has its own messages handled elsewhere, and so do other threads meanwhile")
    func handling() async {
        let inner = Lock<[Task<pthread_t, Never>]>([])
        let (number, tasks) = await onThread { thread in
            var tasks: [Task<pthread_t, Never>] = []
            ReadingThread.afterReading {
                tasks.append(
                    thread.task {
                        #expect(!ReadingThread.isFree)
                        inner.withLock { $0.append(thread.task()) }
                        ReadingThread.afterReading { inner.withLock { $0.append(thread.task()) } }
                    }
                )
            }
            return (thread.number, tasks)
        }
        #expect(await tasks[0].value == number)
        let begun = inner.withLock { $0 }
        #expect(begun.count == 2)
        for task in begun { #expect(await task.value != number) }
    }

    @Test("A thread that doesn't read takes nothing, and one takes something each time that it reads")
    func again() async {
        let elsewhere = await onThread { ($0.number, [$0.task()]) }
        #expect(await elsewhere.1[0].value != elsewhere.0)
        let (number, tasks) = await onThread { thread in
            var tasks: [Task<pthread_t, Never>] = []
            for _ in 0..<3 { ReadingThread.afterReading { tasks.append(thread.task()) } }
            return (thread.number, tasks)
        }
        for task in tasks { #expect(await task.value == number) }
    }

    @Test("What may take long comes after the task, which doesn't wait for it")
    func long() async {
        let (number, tasks) = await onThread { thread in
            let hasRun = Semaphore()
            var tasks: [Task<pthread_t, Never>] = []
            ReadingThread.afterReading {
                tasks.append(thread.task { hasRun.post() })
                ReadingThread.leaveTask()
                hasRun.wait()
                tasks.append(thread.task())
            }
            return (thread.number, tasks)
        }
        #expect(await tasks[0].value != number)
        #expect(await tasks[1].value == number)
    }

    @Test("What the task leaves for later is done when the thread has left the actor; at once in other threads")
    func later() async {
        let desk = Desk()
        let events = Lock<[String]>([])
        let work = { @Sendable in
            ReadingThread.afterHandling { events.withLock { $0.append("later") } }
            events.withLock { $0.append("handled") }
        }
        _ = await onThread { thread in
            ReadingThread.afterReading {
                ReadingThread.accepting { _ = Task.detached(executorPreference: ReadingThread.executor) { await desk.perform(work) } }
            }
            return (thread.number, [])
        }
        #expect(events.withLock { $0 } == ["handled", "later"])
        _ = await desk.perform(work)
        #expect(events.withLock { $0 } == ["handled", "later", "later", "handled"])
    }

    @Test("A task that waits goes on in the thread that has read what it waits for, if that says so", arguments: [true, false])
    func resumed(_ isSaid: Bool) async throws {
        let desk = Desk()
        let wait = Lock<CheckedContinuation<Void, Never>?>(nil)
        let task = Task.detached(executorPreference: ReadingThread.executor) {
            await withCheckedContinuation { continuation in wait.withLock { $0 = continuation } }
            return await desk.perform {}
        }
        try await eventually("the task waits") { wait.withLock { $0 != nil } }
        let (number, _) = await onThread { thread in
            ReadingThread.afterReading {
                let resume = { _ = wait.withLock { $0.take() }?.resume() }
                if isSaid { ReadingThread.resuming(resume) } else { resume() }
            }
            return (thread.number, [])
        }
        #expect((await task.value == number) == isSaid)
    }

    private func onThread(
        _ body: @escaping @Sendable (ThreadAtWork) -> (pthread_t, [Task<pthread_t, Never>])
    ) async -> (pthread_t, [Task<pthread_t, Never>]) {
        await withCheckedContinuation { continuation in
            let isRunning = DetachedThread.run { continuation.resume(returning: body(ThreadAtWork(number: pthread_self()))) }
            #expect(isRunning)
        }
    }
}

private struct ThreadAtWork {
    let number: pthread_t

    /// Begins a task that prefers the reading thread, and goes to an actor of its own.
    func task(_ work: @escaping @Sendable () -> Void = {}) -> Task<pthread_t, Never> {
        let desk = Desk()
        return ReadingThread.accepting { Task.detached(executorPreference: ReadingThread.executor) { await desk.perform(work) } }
    }
}

private actor Desk {
    func perform(_ work: @Sendable () -> Void) -> pthread_t {
        work()
        return pthread_self()
    }
}
#endif
