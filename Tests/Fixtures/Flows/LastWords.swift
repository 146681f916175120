import ConcurrencySupport
public import Coordinators

public enum LastWords {
    /// Answered when the handler is cancelled, and not before.
    public struct Hold: ResponderMessage {
        public typealias Reply = String
        public var bytes: Int
        public init(bytes: Int) { self.bytes = bytes }
    }

    /// Answered at once.
    public struct Fetch: ResponderMessage {
        public typealias Reply = String
        public var bytes: Int
        public init(bytes: Int) { self.bytes = bytes }
    }

    /// The number of handlers that are held.
    public struct Held: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// Shows a page of a certain length.
    public struct Show: ResponderMessage {
        public var bytes: Int
        public init(bytes: Int) { self.bytes = bytes }
    }

    /// The size of its pages.
    public struct Pages: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }

    /// Has it end.
    public struct End: ResponderMessage {
        public var how: Ending
        public init(_ how: Ending) { self.how = how }
    }

    public enum Ending: String, Codable, Sendable, CaseIterable {
        case finish, fail, `return`
    }
}

/// Has a lot to say when it ends.
public actor LastWordsCoordinator: Coordinator {
    public typealias Output = String
    public typealias Event = Int
    public typealias Page = String

    public struct Configuration: CoordinatorConfiguration {
        /// The number of events that the stop hook sends to the delegates.
        public var events = 0
        /// The number of messages that it sends, one way and all at once, before the events.
        public var farewells = 0
        public init() {}
    }

    public nonisolated let context: Context
    private var held = 0
    private nonisolated let mustReturn = OneShot<Void>()

    public init(_ context: Context) { self.context = context }

    public static let mailbox = MailboxPolicy(running: 2_048, waiting: 2_048, bytes: 64 << 20)

    public static let responders: Responders = [
        .respond(to: LastWords.Hold.self) { me, hold in
            me.held += 1
            try? await Fixture.untilCancelled()
            return String(repeating: "x", count: hold.bytes)
        },
        .respond(to: LastWords.Fetch.self) { _, fetch in String(repeating: "x", count: fetch.bytes) },
        .respond(to: LastWords.Held.self) { me, _ in me.held },
        .respond(to: LastWords.Show.self) { me, show in me.context.show(String(repeating: "p", count: show.bytes)) },
        .respond(to: LastWords.Pages.self) { me, _ in me.context.pages.map(\.utf8.count) },
        .respond(to: LastWords.End.self) { me, end in
            switch end.how {
            case .finish: me.context.finish("finished")
            case .fail: me.context.fail(Fixture.Refusal("told to fail"))
            case .return: me.mustReturn.settle()
            }
        },
    ]

    public func run() async throws {
        _ = await mustReturn.valueUnlessCancelled()
    }

    public func stopped() async {
        // More at a time than there is credit for: the others wait for it.
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<configuration.farewells {
                group.addTask { [context] in _ = try? await context.send(Basket.Toggle()) }
            }
        }
        for number in 0..<configuration.events { context.delegates => number }
    }
}
