import WireProtocol

/// A message between runtimes rather than between coordinators: control, which no pause or full mailbox holds up.
protocol BuiltinMessage: ResponderMessage {}

extension BuiltinMessage {
    static var name: String { Builtins.prefix + TypeNames.name(of: Self.self) }
}

enum Builtins {
    /// Names that begin so are the runtime's own.
    static let prefix = "coordinators."

    static func isName(_ name: String) -> Bool { name.utf8.starts(with: prefix.utf8) }
}

/// Climbs to the owner of the stack.
struct Navigate: BuiltinMessage {
    var move: NavigationMove
    var path: CoordinatorPath
    var incarnation: Incarnation
}

/// Climbs to the owner of the stack.
struct ReadNavigation: BuiltinMessage {
    typealias Reply = [NavigationEntry]
}

/// Somebody else has changed the coordinator's slice of the stack.
struct SetPages: BuiltinMessage {
    var pages: [NavigationEntry]
}

/// The coordinator is on top again.
struct Uncovered: BuiltinMessage {
    var page: JSONValue?
}

/// A child's first page was popped; to its parent.
struct FinishPopped: BuiltinMessage {
    var key: String
    /// Which life has shown the page; a later one isn't meant.
    var incarnation: Incarnation
}

/// Listens to the events of a child; to its parent.
///
/// The first reply is empty: it says that it listens.
struct ReadEvents: BuiltinMessage {
    /// An event, or nothing, as its coordinator's type encodes it.
    typealias Reply = NoReply
    var key: String
}

/// Waits for the end of a child's present life; to its parent.
struct WatchChild: BuiltinMessage {
    typealias Reply = Termination
    var key: String
}

/// The coordinator shows a page of its own, and opens the rest of the route below it.
struct OpenRoute: BuiltinMessage {
    var page: JSONValue?
    var rest: [Route.Step]
}
