/// The wait for what another process is to do by a deadline, in which the time doesn't count in which this process itself stood still.
///
/// A process that was stopped, frozen or starved hears late what others have done in time, and a machine that was paused has paused them
/// too. So a deadline is awaited in parts, and how late a part's timer fires extends the deadline.
package enum Patience {
    /// The lateness of a timer that a loaded machine makes.
    private static let tolerance = Duration.milliseconds(100)
    /// The shortest part; a wait has four parts at most otherwise.
    private static let shortestPart = Duration.milliseconds(250)

    /// Waits for an outcome for a part of the time until a deadline.
    ///
    /// - Parameter total: The time that the deadline grants as a whole.
    /// - Returns: The outcome, if it has come; otherwise the time that this process has lost, by which the caller extends the deadline.
    package static func wait<Outcome>(
        for value: OneShot<Outcome>,
        until deadline: MonotonicTime,
        of total: Duration
    ) async -> (outcome: Outcome?, lost: Duration) {
        let begun = MonotonicTime.now
        let end = min(deadline, begun + max(total / 4, shortestPart))
        if let outcome = await value.value(before: end) { return (outcome, .zero) }
        let now = MonotonicTime.now
        let late = now - max(end, begun)
        // It may have stood still from before the timer's time on, but a timer that is always a little late doesn't stop the clock.
        return (nil, late > tolerance ? min(late * 2, now - begun) : .zero)
    }

    /// Waits for an outcome for as long as this process isn't late itself.
    ///
    /// - Parameter read: Reads what is pending, before the verdict.
    /// - Returns: `nil` when the time has passed.
    package static func wait<Outcome>(
        for value: OneShot<Outcome>,
        atMost total: Duration,
        reading read: () async -> Void
    ) async -> Outcome? {
        var deadline = MonotonicTime.now + total
        while true {
            let (outcome, lost) = await wait(for: value, until: deadline, of: total)
            if let outcome { return outcome }
            deadline = deadline + lost
            guard MonotonicTime.now >= deadline else { continue }
            await read()
            return value.outcome
        }
    }
}
