import CProcess
package import ConcurrencySupport
import Glibc

/// Deadlines by the clock that `ContinuousClock` reads, which counts the time for which the machine sleeps.
///
/// The other timers stand still meanwhile: what a comparison with this clock decides they would notice late, by as much as was left of the wait
/// when the machine fell asleep. So a deadline that is compared with this clock is waited for by it.
package enum ContinuousTimers {
    private static let timers: Timers = {
        let descriptor = coordinator_process_boot_timer()
        let alarm = Timers.ClockAlarm(descriptor: descriptor) { _ = coordinator_process_set_boot_timer(descriptor, $0) }
        // They're made when a node of a cluster begins, which can't go on without them.
        guard descriptor >= 0, let timers = Timers(CLOCK_BOOTTIME, alarm: alarm) else {
            preconditionFailure("the timers need three descriptors, and there are none: raise the limit of open files")
        }
        return timers
    }()

    /// The zero of the clock, to a millisecond; never later than it.
    private static let origin: ContinuousClock.Instant = {
        while true {
            let before = ContinuousClock.now
            let time = Duration.nanoseconds(Timers.nanoseconds(of: CLOCK_BOOTTIME))
            // The machine may have slept in between.
            if .now - before < .milliseconds(1) { return before - time }
        }
    }()

    /// Calls `fire` once, at `time` or a little later, on a thread that it must not block.
    package static func schedule(at time: ContinuousClock.Instant, _ fire: @escaping @Sendable () -> Void) -> Timers.Timer {
        timers.schedule(atNanoseconds: (time - origin).nanosecondsClamped, fire)
    }

    /// Cancels a timer of this clock; has no effect once it has fired.
    package static func cancel(_ timer: Timers.Timer) { timers.cancel(timer) }

    /// Waits until a time.
    ///
    /// - Throws: `CancellationError` when the waiting task is cancelled first.
    package static func sleep(until time: ContinuousClock.Instant) async throws {
        let wake = OneShot<Void>()
        let timer = schedule(at: time) { wake.settle() }
        let isOver = await wake.valueUnlessCancelled() != nil
        if isOver { return }
        cancel(timer)
        throw CancellationError()
    }
}
