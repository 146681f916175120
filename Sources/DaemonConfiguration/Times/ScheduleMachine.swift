/// Decides when a child runs that has times: it's told the present time again and again, and says what is to be done.
package struct ScheduleMachine: Sendable, Hashable {
    package enum Action: Sendable, Hashable {
        /// A run is to begin.
        case start
        /// The present run is to be stopped, and another one is to begin.
        case restart
        /// Times have passed without a run of their own.
        case missed(count: Int, first: Int64, Cause)
    }

    /// The cause of a missed time.
    package enum Cause: Sendable, Hashable {
        /// The former run still goes on.
        case overlap
        /// The time was noticed too late. `isMadeUpFor`: a run begins now instead.
        case lateness(isMadeUpFor: Bool)
    }

    /// The lateness, in seconds, up to which a run begins as if it were in time.
    package static let tolerance: Int64 = 60
    /// The seconds by which a clock may be set back so that what has run doesn't run again; one that is set back further was wrong before.
    package static let longestRepeat: Int64 = 3 * 3600
    /// The number of missed times that are counted.
    package static let longestCount = 1_000

    package let settings: ScheduleSettings
    /// The time up to which all times have been dealt with, in seconds since 1970.
    package private(set) var done: Int64
    /// Whether a run waits for the end of the former one.
    package private(set) var isQueued: Bool

    /// - Parameters:
    ///   - now: The time after which the first run comes.
    ///   - isQueued: Whether a run waits already, which counts where runs are queued.
    package init(_ settings: ScheduleSettings, from now: Int64, isQueued: Bool = false) {
        (self.settings, done, self.isQueued) = (settings, now, isQueued && settings.overlap == .queue)
    }

    /// Returns the next time; nil if there is none.
    package func next(in zone: ZoneRules) -> Int64? { settings.cron.next(after: done, in: zone) }

    /// Takes a look at the clock.
    ///
    /// - Parameter isRunning: Whether the former run still goes on.
    package mutating func look(at now: Int64, isRunning: Bool, in zone: ZoneRules) -> [Action] {
        if now < done - Self.longestRepeat { done = now }
        var due: [Int64] = []
        while let time = settings.cron.next(after: due.last ?? done, in: zone), time <= now, due.count < Self.longestCount {
            due.append(time)
        }
        // After more than are counted, one may be due just now.
        if due.count == Self.longestCount, let last = due.last,
            let time = settings.cron.next(after: max(last, now - Self.tolerance - 1), in: zone), time <= now
        {
            due.append(time)
        }
        done = max(done, now)
        var actions: [Action] = []
        let late = due.filter { $0 < now - Self.tolerance }
        let current = due.last.flatMap { $0 >= now - Self.tolerance ? $0 : nil }
        let makesUp = settings.missed == .run && !late.isEmpty && current == nil
        if let first = late.first { actions.append(.missed(count: late.count, first: first, .lateness(isMadeUpFor: makesUp))) }
        var isRunning = isRunning
        if isQueued, !isRunning {
            actions.append(.start)
            // What is due now finds that run.
            (isQueued, isRunning) = (false, true)
        }
        guard let time = current ?? (makesUp ? now : nil) else { return actions }
        if !isRunning { return actions + [.start] }
        switch settings.overlap {
        case .restart: return actions + [.restart]
        case .queue where !isQueued:
            isQueued = true
            return actions
        case .queue, .skip: return actions + [.missed(count: 1, first: time, .overlap)]
        }
    }
}
