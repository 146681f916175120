import ConcurrencySupport
import WireProtocol

/// An operation that an operator can request of a coordinator, from any process.
enum Operation: String, Sendable {
    case inspect, start, stop, restart, replace, kill, pause, resume, counters, reload

    /// Whether the operation only reads, and must be quick; a start or a stop may take as long as the coordinators need.
    var isDescription: Bool { self == .inspect || self == .counters }
}

/// The time that a description of a process may take, and what it's to contain.
///
/// Each process on the way down gives the next one less time than it has itself, so that it can still report a process that doesn't answer
/// before it's considered unresponsive too.
struct TimeoutBudget: Sendable {
    let duration: Duration
    /// Whether the process that asks reads the messages of a coordinator that describes itself; an older build reads only the list of its
    /// children.
    let asksForMailbox: Bool

    /// The budget of the process that asks first.
    static let initial = TimeoutBudget(duration: .seconds(5), asksForMailbox: true)

    private init(duration: Duration, asksForMailbox: Bool) { (self.duration, self.asksForMailbox) = (duration, asksForMailbox) }

    /// Reads the budget as it arrives in the next process; the initial one if the asking process names none.
    init(_ payload: JSONValue) {
        asksForMailbox = payload["mailbox"] == .bool(true)
        guard case .integer(let milliseconds) = payload["patienceMilliseconds"], milliseconds > 0 else {
            duration = Self.initial.duration
            return
        }
        duration = .milliseconds(min(milliseconds, Int64(UInt32.max)))
    }

    /// The time that the next process gets.
    var payload: JSONValue {
        ["patienceMilliseconds": .integer(max(Int64(duration.millisecondsClamped) * 4 / 5, 1)), "mailbox": .bool(true)]
    }
}
