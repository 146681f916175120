import Supervision
import WireProtocol

/// A message between runtimes rather than between coordinators, which no pause or full mailbox delays.
protocol BuiltinMessage: ResponderMessage {}

extension BuiltinMessage {
    static var name: String { ReservedName.prefix + TypeNames.name(of: Self.self) }
}

enum Builtins {
    static func isName(_ name: String) -> Bool { name.utf8.starts(with: ReservedName.prefix.utf8) }
}

/// A request that climbs to the owner of the stack.
struct Navigate: BuiltinMessage {
    var move: NavigationMove
    var path: CoordinatorPath
    var incarnation: Incarnation
}

/// A request that climbs to the owner of the stack.
struct ReadNavigation: BuiltinMessage {
    typealias Reply = [NavigationEntry]
}

/// A notice that another coordinator has changed the receiver's slice of the stack.
struct SetPages: BuiltinMessage {
    var pages: [NavigationEntry]
}

/// A notice that the coordinator is on top again.
struct Uncovered: BuiltinMessage {
    var page: JSONValue?
}

/// A notice to the parent that a child's first page was popped.
struct FinishPopped: BuiltinMessage {
    var key: String
    /// The incarnation that has shown the page; a later one isn't meant.
    var incarnation: Incarnation
}

/// A request to the parent for the events of a child.
///
/// The first reply is empty and confirms that the parent observes the child.
struct ReadEvents: BuiltinMessage {
    /// The reply: an event, or nothing, as its coordinator's type encodes it.
    typealias Reply = NoReply
    var key: String
}

/// A request to the parent to reply at the end of a child's present incarnation.
struct WatchChild: BuiltinMessage {
    typealias Reply = Termination
    var key: String
}

/// A request to show a page of the coordinator's own, and to open the rest of the route below it.
struct OpenRoute: BuiltinMessage {
    var page: JSONValue?
    var rest: [Route.Step]
}
