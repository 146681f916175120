/// The wait for what another process is to do by a deadline, in which the time doesn't count in which this process itself stood still.
///
/// A process that was stopped, frozen or starved hears late what others have done in time, and a machine that was paused has paused them
/// too. So a deadline is awaited in parts, and how late a part's timer fires extends the deadline.
package enum Patience {
    /// The lateness of a timer that a loaded machine makes.
    private static let tolerance = Duration.milliseconds(100)
    /// The shortest part; a wait has four parts at most otherwise.
    fileprivate static let shortestPart = Duration.milliseconds(250)

    /// Returns the time that this process has lost since a moment, given when it was to go on after that.
    ///
    /// It may have stood still from before that time on, but a timer that is always a little late doesn't stop the clock.
    package static func loss(since begun: MonotonicTime, due: MonotonicTime, now: MonotonicTime = .now) -> Duration {
        let late = now - max(due, begun)
        return late > tolerance ? min(late * 2, now - begun) : .zero
    }

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
        return (nil, loss(since: begun, due: end))
    }

    /// Waits for an outcome for as long as this process isn't late itself.
    ///
    /// - Parameter read: Reads what is pending, before the verdict.
    /// - Returns: `nil` when the time has passed.
    package static func wait<Outcome>(
        for value: OneShot<Outcome>,
        until deadline: inout PatientDeadline,
        reading read: () async -> Void = {}
    ) async -> Outcome? {
        while true {
            if let outcome = await value.value(before: deadline.next, of: deadline.time) { return outcome }
            guard deadline.look() else { continue }
            await read()
            return value.outcome
        }
    }

    /// The same, for a time from now on.
    package static func wait<Outcome>(
        for value: OneShot<Outcome>,
        atMost total: Duration,
        of time: TimeSource = .monotonic,
        reading read: () async -> Void = {}
    ) async -> Outcome? {
        var deadline = PatientDeadline(total, of: time)
        return await wait(for: value, until: &deadline, reading: read)
    }
}

/// A deadline for what another process is to do, which is extended by the time in which this process itself stood still.
///
/// Whoever waits looks at the latest at ``next``: a look that comes later tells that the process stood still.
package struct PatientDeadline: Sendable {
    fileprivate let time: TimeSource
    private let part: Duration
    private var begun: MonotonicTime
    /// The time at which the deadline passes, if nothing extends it any more.
    package private(set) var end: MonotonicTime
    /// The time at which to look.
    package private(set) var next: MonotonicTime
    /// The time by which the deadline was extended.
    package private(set) var lost = Duration.zero

    /// Creates a deadline that passes after some time; without any, it has passed.
    package init(_ total: Duration, of time: TimeSource = .monotonic) {
        self.time = time
        // The time that a test moves never stands still by itself.
        part = time.virtual == nil ? max(total / 4, Patience.shortestPart) : total
        let now = time.now
        begun = now
        end = now + total
        next = min(end, now + part)
    }

    /// The time that is left.
    package var left: Duration { end - time.now }

    /// Takes note of the time.
    ///
    /// - Returns: Whether the deadline has passed.
    package mutating func look() -> Bool {
        let now = time.now
        if now < next { return false }
        // Nothing was granted that could be extended.
        let loss = end > begun ? Patience.loss(since: begun, due: next, now: now) : .zero
        lost += loss
        end = end + loss
        begun = now
        next = min(end, now + part)
        return now >= end
    }
}

/// A call at a time that is extended by the time in which this process stands still.
package final class PatientTimer: Sendable {
    private let time: TimeSource
    private let fire: @Sendable () -> Void
    /// The deadline and the timer of the next look; `nil`: it was cancelled, or has fired.
    private let state: Lock<(deadline: PatientDeadline, timer: Timers.Timer?)?>

    /// Calls `fire` once, after `total` or a little later, on a thread that it must not block; the timer lives until then, or until it's
    /// cancelled.
    package init(_ total: Duration, of time: TimeSource, _ fire: @escaping @Sendable () -> Void) {
        (self.time, self.fire) = (time, fire)
        state = Lock((PatientDeadline(total, of: time), nil))
        schedule()
    }

    package func cancel() {
        let timer = state.withLock { state in
            defer { state = nil }
            return state?.timer
        }
        if let timer { time.cancel(timer) }
    }

    private func schedule() {
        guard let next = state.withLock({ $0?.deadline.next }) else { return }
        let timer = time.schedule(at: next) { self.look() }
        let isCancelled = state.withLock { state in
            // The timer may have fired by now, and have made the next one.
            if state?.deadline.next == next { state?.timer = timer }
            return state == nil
        }
        if isCancelled { time.cancel(timer) }
    }

    private func look() {
        let isOver = state.withLock { state -> Bool? in
            guard state?.deadline.look() == true else { return state == nil ? nil : false }
            state = nil
            return true
        }
        guard let isOver else { return }
        if isOver { fire() } else { schedule() }
    }
}
