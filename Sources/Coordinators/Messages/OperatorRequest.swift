import ConcurrencySupport
import WireProtocol

/// An operation that an operator can request of a coordinator, from any process.
enum Operation: String, Sendable {
    case inspect, start, stop, restart, replace, kill, pause, resume, counters, reload
    /// `flows` lists durable flows, `flow` is about the one at the path; `flowRecords` reads those that a next build would go on with.
    case flows, flow, flowRecords

    /// Whether the operation only reads, and must be quick; a start or a stop may take as long as the coordinators need.
    var isDescription: Bool { [.inspect, .counters, .flows, .flowRecords].contains(self) }

    /// Whether the operation is carried out by the coordinator that provides the store of flows.
    var isAboutFlows: Bool { [.flows, .flow, .flowRecords].contains(self) }
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
    /// What else the operation needs to know.
    var argument: JSONValue?

    /// The budget of the process that asks first.
    static let initial = TimeoutBudget(duration: .seconds(5), asksForMailbox: true)

    private init(duration: Duration, asksForMailbox: Bool) { (self.duration, self.asksForMailbox) = (duration, asksForMailbox) }

    /// Reads the budget as it arrives in the next process; the initial one if the asking process names none.
    init(_ payload: JSONValue) {
        asksForMailbox = payload["mailbox"] == .bool(true)
        argument = payload["argument"]
        guard case .integer(let milliseconds) = payload["patienceMilliseconds"], milliseconds > 0 else {
            duration = Self.initial.duration
            return
        }
        duration = .milliseconds(min(milliseconds, Int64(UInt32.max)))
    }

    /// The time that the next process gets.
    var payload: JSONValue {
        var members: [String: JSONValue] = [
            "patienceMilliseconds": .integer(max(Int64(duration.millisecondsClamped) * 4 / 5, 1)), "mailbox": .bool(true),
        ]
        members["argument"] = argument
        return .object(members)
    }
}
