import CProcess
package import ConcurrencySupport
import Glibc

/// Times of day that are waited for by the clock that shows them, which counts the machine's sleep, and is set now and then.
package enum WallTimers {
    /// The clock's timers, once there were descriptors for them.
    private static let timers = Lock<Timers?>(nil)

    /// The time after which is looked again whether a time has come, if the clock can't tell.
    private static let interval = Duration.seconds(10)

    /// The seconds since 1970.
    package static var now: Int64 { Timers.nanoseconds(of: CLOCK_REALTIME).flooredSeconds }

    /// Calls `fire` once, at a time in seconds since 1970 or a little later, on a thread that it must not block; earlier when the clock is set, or
    /// when descriptors are short.
    package static func schedule(at seconds: Int64, _ fire: @escaping @Sendable () -> Void) -> Timers.Call {
        schedule(at: seconds, by: existingOrNew(), fire)
    }

    static func schedule(at seconds: Int64, by timers: Timers?, _ fire: @escaping @Sendable () -> Void) -> Timers.Call {
        guard let timers else {
            let wait = min(.seconds(max(max(seconds, 0) - now, 0)), interval)
            return Timers.shared.call(atNanoseconds: (MonotonicTime.now + wait).nanoseconds, fire)
        }
        return timers.call(atNanoseconds: min(max(seconds, 0), .max / 1_000_000_000) * 1_000_000_000, fire)
    }

    private static func existingOrNew() -> Timers? {
        timers.withLock { timers in
            timers = timers ?? make()
            return timers
        }
    }

    private static func make() -> Timers? {
        let descriptor = coordinator_process_wall_timer()
        guard descriptor >= 0 else { return nil }
        let alarm = Timers.ClockAlarm(descriptor: descriptor) {
            _ = coordinator_process_set_wall_timer(descriptor, $0)
        } wasClockSet: {
            coordinator_process_wall_was_set(descriptor) != 0
        }
        if let timers = Timers(CLOCK_REALTIME, alarm: alarm) { return timers }
        close(descriptor)
        return nil
    }
}

extension Int64 {
    fileprivate var flooredSeconds: Int64 { self >= 0 ? self / 1_000_000_000 : -((999_999_999 - self) / 1_000_000_000) }
}
