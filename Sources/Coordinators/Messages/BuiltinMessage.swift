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
    static var name: String { ReservedName.prefix + TypeNames.name(of: Self.self) }
}

/// The messages between runtimes, and who may send each of them on a link.
enum Builtin: CaseIterable, Sendable {
    case navigate, readNavigation, setPages, uncovered, finishPopped, readEvents, watchChild, openRoute, reconfigure, retire

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

    var type: any BuiltinMessage.Type {
        switch self {
        case .navigate: Navigate.self
        case .readNavigation: ReadNavigation.self
        case .setPages: SetPages.self
        case .uncovered: Uncovered.self
        case .finishPopped: FinishPopped.self
        case .readEvents: ReadEvents.self
        case .watchChild: WatchChild.self
        case .openRoute: OpenRoute.self
        case .reconfigure: Reconfigure.self
        case .retire: Retire.self
        }
    }

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.type.name, $0) })

    /// Finds a message by its name; `nil` when this build has none of that name.
    init?(named name: String) {
        guard let builtin = Self.byName[name] else { return nil }
        self = builtin
    }
}

enum Builtins {
    static func isName(_ name: String) -> Bool { name.utf8.starts(with: ReservedName.prefix.utf8) }
}

/// A request that climbs to the owner of the stack.
struct Navigate: BuiltinMessage {
    static var builtin: Builtin { .navigate }
    var move: NavigationMove
    var path: CoordinatorPath
    var incarnation: Incarnation
}

/// A request that climbs to the owner of the stack.
struct ReadNavigation: BuiltinMessage {
    static var builtin: Builtin { .readNavigation }
    typealias Reply = [NavigationEntry]
}

/// A notice that another coordinator has changed the receiver's slice of the stack.
struct SetPages: BuiltinMessage {
    static var builtin: Builtin { .setPages }
    var pages: [NavigationEntry]
}

/// A notice that the coordinator is on top again.
struct Uncovered: BuiltinMessage {
    static var builtin: Builtin { .uncovered }
    var page: JSONValue?
}

/// A notice to the parent that a child's first page was popped.
struct FinishPopped: BuiltinMessage {
    static var builtin: Builtin { .finishPopped }
    var key: String
    /// The incarnation that has shown the page; a later one isn't meant.
    var incarnation: Incarnation
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

/// A request to show a page of the coordinator's own, and to open the rest of the route below it.
struct OpenRoute: BuiltinMessage {
    static var builtin: Builtin { .openRoute }
    var page: JSONValue?
    var rest: [Route.Step]
}
