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
