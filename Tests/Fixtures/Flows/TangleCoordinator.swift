public import Coordinators

/// The messages of coordinators that ask their siblings.
///
/// Each goes to the sibling of its name, and has the names of those that are asked next, one by the other: a small letter by a row that hands
/// the message on, a capital one by a handler of the parent; p is a pool, whose members are as serial as the others, v is y by a stream, and c is y by a
/// message that coalesces. At a dot the handler waits for the notebook.
public enum Tangle {
    public struct X: TangleMessage {
        public typealias Reply = String
        public var route: String
        public init(_ route: String) { self.route = route }
    }

    public struct Y: TangleMessage {
        public typealias Reply = String
        public var route: String
        public init(_ route: String) { self.route = route }
    }

    public struct Z: TangleMessage {
        public typealias Reply = String
        public var route: String
        public init(_ route: String) { self.route = route }
    }

    public struct P: TangleMessage {
        public typealias Reply = String
        public var route: String
        public init(_ route: String) { self.route = route }
    }

    /// Is answered by y, for all that ask the same at the same time.
    public struct C: TangleMessage, Hashable {
        public typealias Reply = String
        public static let coalesces = true
        public var route: String
        public init(_ route: String) { self.route = route }
    }

    /// Is answered by y, with a stream of one reply.
    public struct V: TangleMessage {
        public typealias Reply = String
        public var route: String
        public init(_ route: String) { self.route = route }
    }

    /// Is handled by the room.
    public struct Hop: TangleMessage {
        public typealias Reply = String
        public var name: String
        public var route: String
        public init(_ name: String, _ route: String) { (self.name, self.route) = (name, route) }
    }

    public static let goOn = "go on"
}

/// A message that a coordinator handles by asking others.
public protocol TangleMessage: ResponderMessage where Reply == String {
    var route: String { get }
}

extension TangleMessage {
    /// On a busy machine a cycle is found by one of the later looks.
    public static var timeout: Duration { .seconds(20) }
}

/// Asks its siblings, and handles as many messages at a time as its type says.
public protocol TangleCoordinator: Coordinator where Configuration == NotebookConfiguration {}

extension TangleCoordinator {
    fileprivate static func row<M: TangleMessage>(for message: M.Type) -> Responders {
        [.respond(to: message) { me, message in try await Self.follow(message.route, me.context) }]
    }

    fileprivate static var stream: Responders {
        [.stream(Tangle.V.self) { me, message, replies in try await replies.send(try await follow(message.route, me.context)) }]
    }

    private static func follow(_ route: String, _ context: Context) async throws -> String {
        guard let next = route.first else { return context.path.key }
        let rest = String(route.dropFirst())
        if next == "." {
            context.configuration.notebook.note(context.path, "waits")
            try await context.configuration.notebook.wait(for: Tangle.goOn)
            return try await follow(rest, context)
        }
        let reply: String =
            switch next {
            case "x": try await context.ask(Tangle.X(rest))
            case "y": try await context.ask(Tangle.Y(rest))
            case "z": try await context.ask(Tangle.Z(rest))
            case "p": try await context.ask(Tangle.P(rest))
            case "c": try await context.ask(Tangle.C(rest), timeout: .seconds(2))
            case "v": try await context.stream(Tangle.V(rest)).first { _ in true } ?? "nothing"
            default: try await context.ask(Tangle.Hop(next.lowercased(), rest))
            }
        return "\(context.path.key) \(reply)"
    }
}

/// Handles one message at a time.
public actor SerialX: TangleCoordinator {
    public static let mailbox = MailboxPolicy(running: 1)
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let responders = row(for: Tangle.X.self)
}

/// Handles one message at a time.
public actor SerialY: TangleCoordinator {
    public static let mailbox = MailboxPolicy(running: 1)
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let responders = row(for: Tangle.Y.self) + row(for: Tangle.C.self) + stream
}

/// Handles one message at a time, as a member of a pool.
public actor SerialP: TangleCoordinator {
    public static let mailbox = MailboxPolicy(running: 1)
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let responders = row(for: Tangle.P.self)
}

/// Handles two messages at a time.
public actor DoubleY: TangleCoordinator {
    public static let mailbox = MailboxPolicy(running: 2)
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let responders = row(for: Tangle.Y.self)
}

/// Handles as many messages at a time as most coordinators do.
public actor FreeY: TangleCoordinator {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let responders = row(for: Tangle.Y.self)
}

/// Handles one message at a time.
public actor SerialZ: TangleCoordinator {
    public static let mailbox = MailboxPolicy(running: 1)
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }
    public static let responders = row(for: Tangle.Z.self)
}

/// The parent of coordinators that ask one another.
public actor TangleRoom: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var inWorkers = false
        /// The number of messages that y handles at a time: one, two or any.
        public var running = 1
        /// The number of the pool's members.
        public var members = 1
        public init() {}
    }

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .forward(prefix: "Tangle.X", to: "x"),
        .forward(prefix: "Tangle.Y", to: "y"),
        .forward(prefix: "Tangle.Z", to: "z"),
        .forward(prefix: "Tangle.P", to: "p"),
        .forward(prefix: "Tangle.V", to: "y"),
        .forward(prefix: "Tangle.C", to: "y"),
        .respond(to: Tangle.Hop.self) { me, hop in
            switch hop.name {
            case "x": try await me.context.ask(Tangle.X(hop.route))
            case "y": try await me.context.ask(Tangle.Y(hop.route))
            case "p": try await me.context.ask(Tangle.P(hop.route))
            default: try await me.context.ask(Tangle.Z(hop.route))
            }
        },
    ]

    public func start() async throws {
        try await start(SerialX.self, "x")
        switch context.configuration.running {
        case 1: try await start(SerialY.self, "y")
        case 2: try await start(DoubleY.self, "y")
        default: try await start(FreeY.self, "y")
        }
        try await start(SerialZ.self, "z")
        let place = context.configuration.inWorkers ? Placement.worker : .inProcess
        try await context.start(SerialP.self, as: "p", in: .pool(context.configuration.members, place)) {
            $0.notebook = context.configuration.notebook
        }
    }

    private func start<C: TangleCoordinator>(_ type: C.Type, _ key: String) async throws {
        try await context.start(type, as: key, in: context.configuration.inWorkers ? .worker : .inProcess) {
            $0.notebook = context.configuration.notebook
        }
    }
}
