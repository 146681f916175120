import Glibc
import HeapModule

/// Deadlines by the hundred thousand: scheduling and cancelling cost the same whatever their number.
///
/// Timers are kept in buckets of about four milliseconds and fire at the end of theirs, never early. One thread sleeps until the
/// first bucket that holds any; without timers it sleeps for good.
package final class Timers: Sendable {
    package static let shared = Timers()

    /// A scheduled call.
    package final class Timer: Sendable {
        fileprivate let bucket: Int64
        let fire: @Sendable () -> Void
        /// Guarded by the buckets' mutex; -1: not scheduled any more.
        nonisolated(unsafe) fileprivate var index: Int
        /// The number of a timer of a virtual time.
        let number: Int

        init(bucket: Int64, index: Int, fire: @escaping @Sendable () -> Void) {
            self.bucket = bucket
            self.index = index
            number = index
            self.fire = fire
        }
    }

    private static let bucketShift: Int64 = 22

    private struct State {
        var buckets: [Int64: [Timer]] = [:]
        var order = Heap<Int64>()
        /// The bucket that the thread sleeps for.
        var awaited = Int64.max
        var isRunning = false
    }

    private let state = Lock(State())
    /// A pipe that wakes the thread when an earlier bucket than the awaited one is made.
    ///
    /// It lives as long as the process.
    private let alarm: (reader: Int32, writer: Int32)

    private init() {
        var ends: [Int32] = [-1, -1]
        let status = pipe(&ends)
        precondition(status == 0, "the timers need a pipe, and none can be made: \(String(cString: strerror(errno)))")
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        alarm = (ends[0], ends[1])
    }

    /// Calls `fire` once, at `time` or up to five milliseconds later, on the timers' thread: it must not block.
    package func schedule(at time: MonotonicTime, _ fire: @escaping @Sendable () -> Void) -> Timer {
        // At most 146 years from the clock's origin: the end of a later bucket couldn't be counted in nanoseconds.
        let bucket = min(max(time.nanoseconds, 0), .max >> 1) >> Self.bucketShift + 1
        let (timer, mustWake, mustStart) = state.withLock { state -> (Timer, Bool, Bool) in
            let timer: Timer
            if state.buckets[bucket] != nil {
                timer = Timer(bucket: bucket, index: state.buckets[bucket]!.count, fire: fire)
                state.buckets[bucket]!.append(timer)
            } else {
                timer = Timer(bucket: bucket, index: 0, fire: fire)
                state.buckets[bucket] = [timer]
                state.order.insert(bucket)
            }
            let mustStart = !state.isRunning
            state.isRunning = true
            let mustWake = bucket < state.awaited
            if mustWake { state.awaited = bucket }
            return (timer, mustWake, mustStart)
        }
        if mustStart {
            startThread()
        } else if mustWake {
            var signal: UInt8 = 1
            _ = write(alarm.writer, &signal, 1)
        }
        return timer
    }

    /// Cancels a timer; has no effect once it has fired.
    package func cancel(_ timer: Timer) {
        state.withLock { state in
            let index = timer.index
            guard index >= 0, var bucket = state.buckets.removeValue(forKey: timer.bucket) else { return }
            let last = bucket.removeLast()
            if last !== timer {
                bucket[index] = last
                last.index = index
            }
            timer.index = -1
            state.buckets[timer.bucket] = bucket
        }
    }

    private func startThread() {
        var thread = pthread_t()
        let status = pthread_create(&thread, nil, { _ in Timers.shared.run() }, nil)
        precondition(status == 0, "the timers' thread could not be created: \(status)")
        pthread_detach(thread)
    }

    private func run() -> UnsafeMutableRawPointer? {
        while true {
            let (due, next) = state.withLock { state -> ([Timer], Int64) in
                let now = MonotonicTime.now.nanoseconds >> Self.bucketShift
                var due: [Timer] = []
                while let first = state.order.min, first <= now {
                    state.order.removeMin()
                    due += state.buckets.removeValue(forKey: first) ?? []
                }
                // Buckets whose timers were all cancelled are no reason to wake.
                while let first = state.order.min, state.buckets[first]?.isEmpty ?? true {
                    state.order.removeMin()
                    state.buckets[first] = nil
                }
                for timer in due { timer.index = -1 }
                state.awaited = due.isEmpty ? state.order.min ?? .max : .min
                return (due, state.awaited)
            }
            if due.isEmpty {
                sleep(until: next)
            } else {
                for timer in due { timer.fire() }
            }
        }
    }

    private func sleep(until bucket: Int64) {
        var descriptor = pollfd(fd: alarm.reader, events: Int16(POLLIN), revents: 0)
        // Rounded up: no timer fires early. A wait of more than 24 days is taken in several.
        let wait = MonotonicTime(nanoseconds: bucket << Self.bucketShift) - .now
        let milliseconds = bucket == .max ? -1 : wait.millisecondsRoundedUp
        guard poll(&descriptor, 1, milliseconds) > 0 else { return }
        var signals = [UInt8](repeating: 0, count: 64)
        while read(alarm.reader, &signals, signals.count) == signals.count {}
    }
}
