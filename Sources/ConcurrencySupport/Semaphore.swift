import Glibc

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
