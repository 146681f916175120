import ConcurrencySupport
import Supervision
import WireProtocol

/// A message between runtimes rather than between coordinators, which no pause or full mailbox delays.
///
/// Within a process the runtime alone makes them. On a link they are bytes that any program can write, so that ``Builtin`` says who may.
protocol BuiltinMessage: ResponderMessage {
    /// The message's row of the table.
    static var builtin: Builtin { get }
}

extension BuiltinMessage {
    static var name: String { builtin.name }
}

/// The messages between runtimes by their names, and who may send each of them on a link.
///
/// The types are those of the features that send them; see `Builtin.type`.
enum Builtin: String, CaseIterable, Sendable {
    case navigate = "Navigate"
    case readNavigation = "ReadNavigation"
    case setPages = "SetPages"
    case uncovered = "Uncovered"
    case finishPopped = "FinishPopped"
    case readEvents = "ReadEvents"
    case watchChild = "WatchChild"
    case openRoute = "OpenRoute"
    case reconfigure = "Reconfigure"
    case retire = "Retire"

    /// The name on a link.
    var name: String { ReservedName.prefix + rawValue }

    /// The senders of a message from which a process takes it.
    enum Authority: CaseIterable, Sendable {
        /// The parent alone: the message decides about its receiver.
        case parent
        /// A worker, about itself and what is below it: the message climbs, and has the path of the coordinator that it's about.
        case ownSubtree
        /// Any worker: the message climbs, and changes nothing.
        case below
        /// Any coordinator of the tree, wherever it is: the message asks the parent of a child, which it names, about the child. A node asks
        /// about the children that the cluster places.
        case anyCoordinator
    }

    var authority: Authority {
        switch self {
        case .navigate: .ownSubtree
        case .readNavigation: .below
        case .readEvents, .watchChild: .anyCoordinator
        case .setPages, .uncovered, .finishPopped, .openRoute, .reconfigure, .retire: .parent
        }
    }

    /// Whether the message is an ask, which has a number on a link: it's kept until it's answered, or until its asker gives it up.
    var isAsk: Bool {
        switch self {
        case .navigate, .setPages, .uncovered, .finishPopped: false
        case .readNavigation, .readEvents, .watchChild, .openRoute, .reconfigure, .retire: true
        }
    }

    /// Finds a message by its name; `nil` when this build has none of that name.
    init?(named name: String) {
        guard Builtins.isName(name) else { return nil }
        self.init(rawValue: String(name.dropFirst(ReservedName.prefix.count)))
    }
}

enum Builtins {
    static func isName(_ name: String) -> Bool { name.utf8.starts(with: ReservedName.prefix.utf8) }
}

/// A request to the parent for the events of a child.
///
/// The first reply is empty and confirms that the parent observes the child.
struct ReadEvents: BuiltinMessage {
    static var builtin: Builtin { .readEvents }
    /// The reply: an event, or nothing, as its coordinator's type encodes it.
    typealias Reply = NoReply
    var key: String
}

/// A request to the parent to reply at the end of a child's present incarnation.
struct WatchChild: BuiltinMessage {
    static var builtin: Builtin { .watchChild }
    typealias Reply = Termination
    var key: String
}

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
