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
