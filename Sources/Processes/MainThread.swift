import ConcurrencySupport
import Glibc

/// The main thread as the one that serves child processes.
///
/// A program that replaces itself by execve(2) needs this: the thread that makes the call is the main thread of the next program, and the
/// kernel takes that thread for the parent of the children. When it ends, or another one makes the next call, they're sent their
/// parent-death signal.
package enum MainThread {
    private struct State {
        var isOffered = false
        var thread: ProcessThread?
    }

    private static let state = Lock(State())
    private static let interval: UInt32 = 1_000

    /// Offers the main thread to the first process thread, before there is one.
    package static func offer() { state.withLock { $0.isOffered = true } }

    /// Serves child processes on the calling thread, which must be the main one, for ever.
    package static func serve() -> Never {
        while true {
            if let thread = state.withLock({ $0.thread.take() }) { thread.run() }
            usleep(state.withLock { $0.isOffered } ? interval : 1_000_000)
        }
    }

    /// Returns whether the main thread runs the body of a process thread.
    static func takes(_ thread: ProcessThread) -> Bool {
        state.withLock { state in
            guard state.isOffered else { return false }
            (state.isOffered, state.thread) = (false, thread)
            return true
        }
    }
}
