import ConcurrencySupport
import WireProtocol

/// An operation that an operator can request of a coordinator, from any process.
enum Operation: String, Sendable {
    case inspect, start, stop, restart, kill, pause, resume, counters

    /// Whether the operation only reads, and must be quick; a start or a stop may take as long as the coordinators do.
    var isDescription: Bool { self == .inspect || self == .counters }
}

/// The time that a description of a process may take.
///
/// Each process on the way down asks the next one with less than it was given itself, so that it can still tell of one that says nothing
/// before it is thought to say nothing too.
struct TimeoutBudget: Sendable {
    let duration: Duration

    /// The budget of the one who asks first.
    static let initial = TimeoutBudget(duration: .seconds(5))

    private init(duration: Duration) { self.duration = duration }

    /// As it arrives in the next process; from one that doesn't say, it's what is usual.
    init(_ payload: JSONValue) {
        guard case .integer(let milliseconds) = payload["patienceMilliseconds"], milliseconds > 0 else {
            self = .initial
            return
        }
        duration = .milliseconds(min(milliseconds, Int64(UInt32.max)))
    }

    /// The time that the next process gets.
    var payload: JSONValue { ["patienceMilliseconds": .integer(max(Int64(duration.millisecondsClamped) * 4 / 5, 1))] }
}
