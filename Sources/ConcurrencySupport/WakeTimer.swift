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
