/// The times at which the asks of an open loop are due, whatever becomes of the asks before them.
struct LoadSchedule: Sendable {
    /// The asks a second.
    let rate: Double
    /// The time in which the rate rises from zero, evenly.
    let ramp: Duration
    /// The time after the ramp, which is measured.
    let duration: Duration

    /// The time from the start at which no ask is due any more.
    var end: Duration { ramp + duration }

    /// Returns the time from the start at which an ask is due; nil when it would be due at the end or later.
    ///
    /// - Parameter number: the number of the ask, from 0.
    func due(_ number: Int) -> Duration? {
        let number = Double(number)
        let ramp = ramp / .seconds(1)
        let seconds = number < rampCount ? (2 * ramp * number / rate).squareRoot() : ramp + (number - rampCount) / rate
        let due = Duration.seconds(seconds)
        return due < end ? due : nil
    }

    /// The number of the first ask that counts.
    var firstMeasured: Int { Int(rampCount.rounded(.up)) }

    /// The asks before the end of the ramp: the integral of a rate that grows evenly.
    private var rampCount: Double { rate * (ramp / .seconds(1)) / 2 }

    /// Whether an ask that is due at this time counts: one of the ramp doesn't.
    func isMeasured(_ due: Duration) -> Bool { due >= ramp }
}
