import CProcess
package import ConcurrencySupport
import Glibc

/// Times of day that are waited for by the clock that shows them, which counts the machine's sleep, and is set now and then.
package enum WallTimers {
    private static let timers: Timers = {
        let descriptor = coordinator_process_wall_timer()
        precondition(descriptor >= 0, "the timers need a timerfd, and none can be made: \(String(cString: strerror(-descriptor)))")
        let alarm = Timers.ClockAlarm(descriptor: descriptor) {
            _ = coordinator_process_set_wall_timer(descriptor, $0)
        } wasClockSet: {
            coordinator_process_wall_was_set(descriptor) != 0
        }
        return Timers(CLOCK_REALTIME, alarm: alarm)
    }()

    /// Takes the descriptors that the timers need, while there are some.
    package static func prepare() { _ = timers }

    /// The seconds since 1970.
    package static var now: Int64 { Timers.nanoseconds(of: CLOCK_REALTIME).flooredSeconds }

    /// Calls `fire` once, at a time in seconds since 1970 or a little later, or earlier when the clock is set, on a thread that it must not
    /// block.
    package static func schedule(at seconds: Int64, _ fire: @escaping @Sendable () -> Void) -> Timers.Timer {
        timers.schedule(atNanoseconds: min(max(seconds, 0), .max / 1_000_000_000) * 1_000_000_000, fire)
    }

    /// Cancels a timer of this clock; has no effect once it has fired.
    package static func cancel(_ timer: Timers.Timer) { timers.cancel(timer) }
}

extension Int64 {
    fileprivate var flooredSeconds: Int64 { self >= 0 ? self / 1_000_000_000 : -((999_999_999 - self) / 1_000_000_000) }
}
