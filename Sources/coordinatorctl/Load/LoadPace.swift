/// The pace at which a load generator asks.
enum LoadPace: Sendable {
    /// Each ask at its time; how long the asks before it take makes no difference.
    case scheduled(LoadSchedule)
    /// The next ask as soon as one has ended, for a time: the rate that comes of it is the greatest with so many asks open.
    case saturating(Duration)

    /// The time after which no ask begins.
    var end: Duration {
        switch self {
        case .scheduled(let schedule): schedule.end
        case .saturating(let duration): duration
        }
    }

    /// The time at which the measurement begins.
    var measuredFrom: Duration {
        switch self {
        case .scheduled(let schedule): schedule.ramp
        case .saturating: .zero
        }
    }
}
