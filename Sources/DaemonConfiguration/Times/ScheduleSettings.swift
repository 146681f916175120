/// The times at which a child runs.
public struct ScheduleSettings: Codable, Hashable, Sendable {
    /// What happens at a time at which the former run still goes on.
    public enum Overlap: String, Codable, Hashable, Sendable, CaseIterable {
        /// The time passes without a run.
        case skip
        /// The next run begins when the former one has ended; more than one don't wait.
        case queue
        /// The former run is stopped, and the next one begins.
        case restart
    }

    /// What happens after times at which no run could begin, because no daemon ran, the machine slept, or its clock was set forward.
    public enum Missed: String, Codable, Hashable, Sendable, CaseIterable {
        /// They pass without a run.
        case skip
        /// One run makes up for all of them.
        case run
    }

    /// The times.
    public var cron: CronExpression

    /// The name of the time zone, such as `Europe/Berlin`; nil means that of the machine.
    public var timeZone: String?

    /// What happens while the former run still goes on.
    public var overlap: Overlap

    /// What happens after times that were missed.
    public var missed: Missed

    /// Creates times.
    public init(cron: CronExpression, timeZone: String? = nil, overlap: Overlap = .skip, missed: Missed = .skip) {
        self.cron = cron
        self.timeZone = timeZone
        self.overlap = overlap
        self.missed = missed
    }
}
