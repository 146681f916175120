import ConcurrencySupport
import Glibc

/// nng's thread that waits for events of all sockets.
///
/// nng 1.5.2 watches a socket before it connects it, and the kernel reports a socket that isn't connected as hung up (`unix_poll`) for as
/// long as it's watched: the thread spins until the connection is made. On a busy machine it does so on the processor of the thread that is
/// about to connect, whose place it takes when it's woken: then each dial takes a time slice, some milliseconds.
enum Poller {
    /// The name that nng gives its thread.
    private static let name = "nng:poll:epoll"

    /// `SCHED_BATCH` of sched(7), which Glibc's module lacks: a woken thread doesn't take the place of one that runs.
    private static let batch: Int32 = 3

    /// The thread's number, under the lock that one dial after the other takes; nil when there is none of that name.
    static let thread = Lock(find())

    /// Calls a function that connects; the thread doesn't take the caller's place meanwhile.
    ///
    /// Not for an encrypted stream, whose address nng looks up first, on a thread of its own.
    static func standBack(during connect: () -> Void) {
        thread.withLock { thread in
            // A thread that the operator has scheduled in another way stays so; a failure changes nothing.
            guard let thread, sched_getscheduler(thread) == SCHED_OTHER else { return connect() }
            setPolicy(batch, of: thread)
            connect()
            setPolicy(SCHED_OTHER, of: thread)
        }
    }

    private static func setPolicy(_ policy: Int32, of thread: pid_t) {
        var parameters = sched_param(sched_priority: 0)
        _ = sched_setscheduler(thread, policy, &parameters)
    }

    private static func find() -> pid_t? { OwnProcess.threads.first { self.name(of: $0) == name } }

    private static func name(of thread: pid_t) -> String? {
        let descriptor = open("/proc/self/task/\(thread)/comm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<(count - 1)], as: UTF8.self) : nil
    }
}
