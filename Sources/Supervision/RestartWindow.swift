/// The restarts of the last period: OTP's measure of "too many".
///
/// A restart exactly one period old still counts, as in OTP's supervisor.erl (`add_restart`).
struct RestartWindow: Sendable {
    private var times: [Duration] = []
    /// The index of the first time inside the window.
    ///
    /// Earlier ones are removed only when they are more than half, so that a restart costs O(1).
    private var head = 0

    /// Records a restart and returns whether the restarts within the period are within the intensity.
    mutating func admit(at now: Duration, intensity: Int, period: Duration) -> Bool {
        while head < times.count, times[head] < now - period {
            head += 1
        }
        if head > times.count / 2 {
            times.removeFirst(head)
            head = 0
        }
        times.append(now)
        return times.count - head <= intensity
    }
}
