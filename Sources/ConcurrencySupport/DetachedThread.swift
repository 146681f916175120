import Dispatch
import Glibc

/// A thread for work that may block, which must not occupy a thread of a pool.
package enum DetachedThread {
    /// Runs a function on a thread of its own.
    ///
    /// - Returns: false when no thread can be made; the function doesn't run then.
    package static func run(_ body: @escaping @Sendable () -> Void) -> Bool {
        var thread = pthread_t()
        // Unsafe: pthread_create takes one pointer; the thread takes the reference back, or this call does when there is no thread.
        let reference = Unmanaged.passRetained(Box(body))
        let status = pthread_create(
            &thread,
            nil,
            { context in
                if let context { Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(context).takeRetainedValue().value() }
                return nil
            },
            reference.toOpaque()
        )
        guard status == 0 else {
            reference.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    /// Runs a function on a thread of its own, and waits for its end for a time at most.
    ///
    /// - Returns: Whether it has ended by then; nil when no thread can be made, and the function doesn't run.
    package static func run(waitingFor limit: Duration, _ body: @escaping @Sendable () -> Void) -> Bool? {
        // Not a semaphore of POSIX, whose time limits are of the wall clock.
        let isDone = DispatchSemaphore(value: 0)
        let isBegun = run {
            body()
            isDone.signal()
        }
        return isBegun ? isDone.wait(timeout: .now() + .nanoseconds(Int(limit.nanosecondsClamped))) == .success : nil
    }
}

/// A count that threads wait for; see sem_overview(7).
///
/// Only a thread of one's own may wait: those of a pool must not block.
package final class Semaphore: Sendable {
    // A semaphore needs an address that stays.
    private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    /// Creates a semaphore with the count 0.
    package init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Adds one to the count, and wakes a thread that waits; never blocks.
    package func post() { sem_post(semaphore) }

    /// Waits until the count isn't 0, and takes one from it.
    package func wait() {
        // A signal may have interrupted it.
        while sem_wait(semaphore) != 0 {}
    }

    /// Does the same for a time at most, which a step of the wall clock changes.
    package func wait(for limit: Duration) {
        let time = Timers.nanoseconds(of: CLOCK_REALTIME) + limit.nanosecondsClamped
        var end = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        while sem_timedwait(semaphore, &end) != 0, errno == EINTR {}
    }
}
