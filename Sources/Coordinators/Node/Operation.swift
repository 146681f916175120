import ConcurrencySupport
import WireProtocol

/// An operation that an operator can request of a coordinator, from any process.
enum Operation: String, Sendable {
    case inspect, start, stop, restart, kill, pause, resume, counters

    /// Whether the operation only reads, and must be quick; a start or a stop may take as long as the coordinators need.
    var isDescription: Bool { self == .inspect || self == .counters }
}

/// The time that a description of a process may take.
///
/// Each process on the way down gives the next one less time than it has itself, so that it can still report a process that doesn't answer
/// before it's considered unresponsive too.
struct TimeoutBudget: Sendable {
    let duration: Duration

    /// The budget of the process that asks first.
    static let initial = TimeoutBudget(duration: .seconds(5))

    private init(duration: Duration) { self.duration = duration }

    /// Reads the budget as it arrives in the next process; the initial one if the asking process names none.
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
