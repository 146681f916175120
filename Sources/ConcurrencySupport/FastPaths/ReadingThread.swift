// Saves: 11 % of the processor time of an ask that one task of another process sends after the other: 98 us without it, 88 us with it. If its task
// doesn't wait busily, 22 % of its round trip: 107 us without it, 101 us where it's handled so, 85 us where its asker goes on so too.
// Measured: `Measure asks place=worker concurrency=1`, and `Measure round-trips place=worker busy-wait=0`; three and five rounds in turn.
// Off: COORDINATORS_SLOW_PATH_ONLY: what a read has brought is handled, and goes on, on a thread of Swift's pool.

import Glibc
import Synchronization

/// A thread that has read from a connection: it handles what came of that itself, once the next read is under way.
///
/// To wake a thread of Swift's pool may take longer than the handling. So a task that is begun for a message, with ``executor`` as its preference,
/// runs here, and one that has waited for it goes on here. One thread of the process does so at a time; meanwhile others read, also from the
/// same connection, and what they bring is handled in the pool. So a handler may take its time, or never end: there are always threads left that
/// read.
///
/// The thread goes to the task's actor, and does all that the actor has to do then, until it has nothing to do.
public enum ReadingThread {
    /// The size of the largest read after which a thread handles something itself, in bytes.
    ///
    /// One that brings more brings many messages, and while they are handled elsewhere, this thread reads the next ones.
    package static let readLimit = 1_024

    /// What the thread does when it has read on.
    private struct Work {
        /// Whether it may take a job: until a task that it has taken is at its actor.
        var isOpen = true
        /// Whether a job that is enqueued now is for this thread.
        var accepts = false
        var job: UnownedJob?
        /// Whether this thread is the one of the process that handles messages.
        var isTheOne = false
        /// What comes when the actor has been left.
        var afterwards: [() -> Void] = []
    }

    private final class Executor: TaskExecutor {
        /// Keeps the job for the present thread; what that doesn't take runs in Swift's pool.
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            if !ReadingThread.take(job) { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
        }
    }

    /// The executor that tasks prefer which are to run in the present thread.
    package static let executor: any TaskExecutor = Executor()

    private static let hasOne = Atomic(false)

    // A number that is written once, and a thread's own pointer behind it: to its `Work`, which is on its stack.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    private static var work: UnsafeMutablePointer<Work>? {
        guard let key else { return nil }
        return pthread_getspecific(key)?.assumingMemoryBound(to: Work.self)
    }

    /// Whether the present thread would run a task that prefers ``executor``.
    package static var isFree: Bool {
        guard let work = work?.pointee else { return false }
        return work.isOpen && work.job == nil && !hasOne.load(ordering: .relaxed)
    }

    /// Calls a function that takes what a read has brought and reads on; then runs the task that the function has begun or resumed for this
    /// thread.
    package static func afterReading(_ deliver: () -> Void) {
        guard let key, work == nil else { return deliver() }
        var work = Work()
        withUnsafeMutablePointer(to: &work) { work in
            pthread_setspecific(key, work)
            deliver()
            if let first = work.pointee.job.take() {
                // Goes to the actor of the task only, which comes back as another job.
                work.pointee.accepts = true
                first.runSynchronously(on: executor.asUnownedTaskExecutor())
                // From here on the thread takes nothing: what is handled may send messages, and they don't wait for its end.
                work.pointee.isOpen = false
                if let job = work.pointee.job.take() { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
            }
            pthread_setspecific(key, nil)
        }
        if work.isTheOne { hasOne.store(false, ordering: .releasing) }
        for body in work.afterwards { body() }
    }

    /// Leaves the task that the present thread has taken to Swift's pool, because something comes first that may take long.
    package static func leaveTask() {
        guard let work, work.pointee.isOpen, let job = work.pointee.job.take() else { return }
        work.pointee.isTheOne = false
        hasOne.store(false, ordering: .releasing)
        globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }

    /// Calls a function when the present thread has handled what it had to; at once if it handles nothing.
    ///
    /// What the function enqueues at the actor isn't done by this thread then.
    package static func afterHandling(_ body: @escaping () -> Void) {
        guard let work, work.pointee.isTheOne else { return body() }
        work.pointee.afterwards.append(body)
    }

    /// Calls a function that begins a task whose preference is ``executor``, and that runs in the present thread.
    package static func accepting<Result>(_ body: () -> Result) -> Result {
        guard let work else { return body() }
        let former = work.pointee.accepts
        work.pointee.accepts = true
        defer { work.pointee.accepts = former }
        return body()
    }

    /// Calls a function that may resume a task whose preference is ``executor``: it goes on in the present thread, if that is free.
    package static func resuming(_ body: () -> Void) { isFree ? accepting(body) : body() }

    private static func take(_ job: UnownedJob) -> Bool {
        guard let work, work.pointee.isOpen, work.pointee.accepts, work.pointee.job == nil else { return false }
        guard work.pointee.isTheOne || !hasOne.exchange(true, ordering: .acquiring) else { return false }
        work.pointee.isTheOne = true
        work.pointee.job = job
        return true
    }
}
