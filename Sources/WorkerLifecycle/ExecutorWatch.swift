/// What is known of the executor on which a worker's coordinators run, as a value.
///
/// A probe goes over the link and is answered by a task of the worker's: the answer comes late when every thread of the executor is busy or
/// blocked. A new probe is sent only when the former one has been answered, so that they don't pile up behind what keeps the executor busy.
public struct ExecutorWatch: Sendable, Hashable {
    /// The time at which the probe was sent that hasn't been answered; `nil`: no probe is under way.
    package private(set) var probedAt: Duration?
    /// Whether the owner has been told that the executor is silent.
    package private(set) var isSilenceTold = false

    init() {}

    /// Notes that a probe is due.
    ///
    /// - Returns: Whether it's to be sent: none is under way.
    mutating func probe(now: Duration) -> Bool {
        if probedAt != nil { return false }
        probedAt = now
        return true
    }

    /// Notes that the probe has been answered.
    ///
    /// - Returns: Whether the owner has to be told, since it takes the executor for silent.
    mutating func hear() -> Bool {
        probedAt = nil
        defer { isSilenceTold = false }
        return isSilenceTold
    }

    /// Forgets the probe that is under way: its answer may have been lost with the link.
    mutating func forget() { probedAt = nil }

    /// Notes that the parent could not hear until now.
    mutating func excuse(now: Duration) {
        if probedAt != nil { probedAt = now }
    }

    /// The time for which the executor has left a probe unanswered; `nil`: it owes no answer.
    func silence(now: Duration) -> Duration? { probedAt.map { now - $0 } }

    /// Notes that the executor has been silent for too long.
    ///
    /// - Returns: Whether the owner has to be told.
    mutating func tellSilence() -> Bool {
        defer { isSilenceTold = true }
        return !isSilenceTold
    }
}
