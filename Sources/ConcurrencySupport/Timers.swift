package import Glibc
import HeapModule

/// Deadlines by the hundred thousand: scheduling and cancelling cost the same whatever their number.
///
/// Timers are kept in buckets of about four milliseconds and fire at the end of theirs, never early. One thread sleeps until the
/// first bucket that holds any; without timers it sleeps for good.
package final class Timers: Sendable {
    /// The timers of the clock that stands still while the machine sleeps.
    package static let shared: Timers = {
        guard let timers = Timers(CLOCK_MONOTONIC) else {
            preconditionFailure("the timers need a pipe, and none can be made: \(String(cString: strerror(errno)))")
        }
        return timers
    }()

    /// A scheduled call, of timers that its holder needn't know.
    package struct Call: Sendable {
        /// Cancels the call; has no effect once it has been made.
        package let cancel: @Sendable () -> Void

        package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }
    }

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

    /// A descriptor that becomes readable at a time of a clock.
    package struct ClockAlarm: Sendable {
        fileprivate let descriptor: Int32
        fileprivate let set: @Sendable (_ nanoseconds: Int64) -> Void
        fileprivate let wasClockSet: @Sendable () -> Bool

        /// - Parameters:
        ///   - set: A function that sets the time; `.max`: none.
        ///   - wasClockSet: Whether the descriptor is readable because the clock was set: all timers fire then, before their times.
        package init(
            descriptor: Int32,
            set: @escaping @Sendable (_ nanoseconds: Int64) -> Void,
            wasClockSet: @escaping @Sendable () -> Bool = { false }
        ) {
            (self.descriptor, self.set, self.wasClockSet) = (descriptor, set, wasClockSet)
        }
    }

    private let clock: clockid_t
    /// What wakes the thread by the clock; `nil`: poll(2) does, by the monotonic one.
    private let clockAlarm: ClockAlarm?
    private let state = Lock(State())
    /// A pipe that wakes the thread when an earlier bucket than the awaited one is made.
    ///
    /// It lives as long as the process.
    private let alarm: (reader: Int32, writer: Int32)

    /// Creates timers, whose thread lives as long as the process.
    ///
    /// - Parameters:
    ///   - clock: The clock of all times.
    ///   - alarm: What wakes by this clock; `nil` for the monotonic one.
    /// - Returns: `nil`, and the reason in `errno`, if there are no descriptors for them.
    package init?(_ clock: clockid_t, alarm clockAlarm: ClockAlarm? = nil) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        (self.clock, self.clockAlarm) = (clock, clockAlarm)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        alarm = (ends[0], ends[1])
    }

    /// Calls `fire` once, at `time` or up to five milliseconds later, on the timers' thread: it must not block.
    package func schedule(at time: MonotonicTime, _ fire: @escaping @Sendable () -> Void) -> Timer {
        schedule(atNanoseconds: time.nanoseconds, fire)
    }

    /// The same, as a call that can be cancelled without these timers.
    package func call(atNanoseconds time: Int64, _ fire: @escaping @Sendable () -> Void) -> Call {
        let timer = schedule(atNanoseconds: time, fire)
        return Call { self.cancel(timer) }
    }

    /// The same, at a time of these timers' clock.
    package func schedule(atNanoseconds time: Int64, _ fire: @escaping @Sendable () -> Void) -> Timer {
        // At most 146 years from the clock's origin: the end of a later bucket couldn't be counted in nanoseconds.
        let bucket = min(max(time, 0), .max >> 1) >> Self.bucketShift + 1
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
        if DetachedThread.run({ self.run() }) { return }
        precondition(self !== Self.shared, "the timers' thread could not be created")
        // None is to be had at the moment.
        _ = Self.shared.schedule(at: .now + .milliseconds(100)) { self.startThread() }
    }

    /// The time on a clock.
    package static func nanoseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func run() {
        var wasClockSet = false
        while true {
            let (due, next) = state.withLock { state -> ([Timer], Int64) in
                let now = wasClockSet ? .max : Self.nanoseconds(of: clock) >> Self.bucketShift
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
                wasClockSet = sleep(until: next)
            } else {
                wasClockSet = false
                for timer in due { timer.fire() }
            }
        }
    }

    /// - Returns: Whether the clock was set meanwhile.
    private func sleep(until bucket: Int64) -> Bool {
        var milliseconds: Int32 = -1
        if let clockAlarm {
            clockAlarm.set(bucket == .max ? .max : bucket << Self.bucketShift)
        } else if bucket != .max {
            // Rounded up: no timer fires early. A wait of more than 24 days is taken in several.
            milliseconds = (MonotonicTime(nanoseconds: bucket << Self.bucketShift) - .now).millisecondsRoundedUp
        }
        // On the stack, since this is done for each bucket. Unsafe: a tuple of two is laid out as an array of two.
        let event = Int16(POLLIN)
        // A descriptor of -1 is ignored.
        var descriptors = (
            pollfd(fd: alarm.reader, events: event, revents: 0), pollfd(fd: clockAlarm?.descriptor ?? -1, events: event, revents: 0)
        )
        let count = withUnsafeMutablePointer(to: &descriptors) {
            $0.withMemoryRebound(to: pollfd.self, capacity: 2) { poll($0, 2, milliseconds) }
        }
        let wasClockSet = count > 0 && descriptors.1.revents != 0 && clockAlarm?.wasClockSet() == true
        guard count > 0, descriptors.0.revents != 0 else { return wasClockSet }
        var signals: (UInt64, UInt64) = (0, 0)
        let size = MemoryLayout.size(ofValue: signals)
        while read(alarm.reader, &signals, size) == size {}
        return wasClockSet
    }
}

/// The single timer of a machine: a later call replaces a former one.
package final class WakeTimer: Sendable {
    private let time: TimeSource
    private let timer = Lock<Timers.Timer?>(nil)

    package init(_ time: TimeSource = .monotonic) { self.time = time }

    deinit { cancel() }

    /// Calls `fire` at a time, and not at any that was set before.
    package func set(at time: MonotonicTime, _ fire: @escaping @Sendable () -> Void) {
        replace(with: self.time.schedule(at: time, fire))
    }

    /// Cancels the timer.
    package func cancel() { replace(with: nil) }

    private func replace(with new: Timers.Timer?) {
        let former = timer.withLock { timer in
            defer { timer = new }
            return timer
        }
        if let former { time.cancel(former) }
    }
}
