import DequeModule
import Glibc

/// A lock that is held across suspensions: one operation runs at a time, in order of arrival.
package final class AsyncLock: Sendable {
    private struct State {
        var isTaken = false
        var waiting: Deque<CheckedContinuation<Void, Never>> = []

        mutating func takeIfFree() -> Bool {
            defer { isTaken = true }
            return !isTaken
        }
    }

    private let state = Lock(State())

    package init() {}

    /// Runs an operation when those that came before have ended.
    package func pass<Result: Sendable, Failure: Error>(
        _ operation: @Sendable () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await enter()
        defer { leave() }
        return try await operation()
    }

    /// Waits until those that came before have left; the caller has to leave, too.
    package func enter() async {
        if state.withLock({ $0.takeIfFree() }) { return }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state -> Bool in
                let isFree = state.takeIfFree()
                if !isFree { state.waiting.append(continuation) }
                return isFree
            }
            if isFree { continuation.resume() }
        }
    }

    /// Lets the next one enter.
    package func leave() {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            let next = state.waiting.popFirst()
            if next == nil { state.isTaken = false }
            return next
        }?.resume()
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
