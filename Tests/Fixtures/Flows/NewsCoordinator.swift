public import Coordinators

/// The messages that a news desk answers, by broadcasts and by streams.
public enum News {
    /// Reads the latest number.
    public struct Latest: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// Reads all numbers.
    public struct All: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }

    /// Reads all numbers, and how many were missed.
    public struct Marked: ResponderMessage {
        public typealias Reply = Broadcast<Int>.Reading
        public init() {}
    }

    /// Sends the numbers of a range to all readers.
    public struct Publish: ResponderMessage {
        public var first, last: Int
        public init(_ numbers: ClosedRange<Int>) { (first, last) = (numbers.lowerBound, numbers.upperBound) }
    }

    /// Asks for the numbers of readers of the latest number, and of all.
    public struct Readers: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }

    /// A stream of one way to begin.
    public struct Begin: ResponderMessage {
        public enum Way: String, Codable, Sendable, CaseIterable {
            case accepts, replies, ends, throwsError, throwsAfterwards, waits
        }

        public typealias Reply = Int
        public var way: Way
        public init(_ way: Way) { self.way = way }
    }

    /// No coordinator has a row for it.
    public struct Unknown: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }
}

/// Shows numbers to any number of readers.
public actor NewsCoordinator: Coordinator {
    /// The number of values that a reader of all may have unread.
    public static let limit = 8

    public nonisolated let context: Context
    private let latest: Broadcast<Int>
    private let all: Broadcast<Int>

    public init(_ context: Context) {
        self.context = context
        latest = context.broadcast(latest: 0)
        all = context.broadcast(all: Int.self, limit: Self.limit)
    }

    public static let responders: Responders = [
        .broadcast(News.Latest.self) { me, _ in me.latest },
        .broadcast(News.All.self) { me, _ in me.all },
        .broadcast(News.Marked.self) { me, _ in me.all },
        .respond(to: News.Publish.self) { me, publish in
            for number in publish.first...publish.last {
                me.latest.send(number)
                me.all.send(number)
            }
        },
        .respond(to: News.Readers.self) { me, _ in [me.latest.readers, me.all.readers] },
        .stream(News.Begin.self) { _, begin, replies in
            switch begin.way {
            case .accepts: replies.accept()
            case .replies: try await replies.send(1)
            case .ends: return
            case .throwsError: throw Fixture.Refusal("there is no such job")
            case .throwsAfterwards:
                replies.accept()
                throw Fixture.Refusal("later")
            case .waits: break
            }
            try await Fixture.untilCancelled()
        },
    ]
}

/// Hands on what is for its news desk, or its pool of desks, and sees it pass.
public actor NewsHall: Coordinator {
    public struct Configuration: CoordinatorConfiguration {
        public var hasWorkers = false
        public var hasPool = false
        public init() {}
    }

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .intercept(prefix: "News.") { _, _, chain in try await chain.next() },
        .forward(prefix: "News.", to: "news"),
    ]

    public func start() async throws {
        let placement: Placement = context.configuration.hasWorkers ? .worker : .inProcess
        if context.configuration.hasPool {
            try await context.start(NewsCoordinator.self, as: "news", in: .pool(1, placement))
        } else {
            try await context.start(NewsCoordinator.self, as: "news", in: placement)
        }
    }
}
