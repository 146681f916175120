public import Coordinators

/// The messages of the tests of handlers that run on past their cancellation.
public enum Stubborn {
    /// The ways in which a handler runs on, until the notebook reads "go on".
    public enum Way: String, Codable, Sendable, CaseIterable {
        /// It awaits, and doesn't look whether it's cancelled.
        case awaits
        /// It blocks its thread.
        case blocks
        /// Its row doesn't await, and blocks its thread.
        case blocksAtOnce
        /// It streams, and goes on when the reader has left.
        case streams
        /// It asks the coordinator above, whose row blocks their thread.
        case asksBlocked

        public var blocksThread: Bool {
            switch self {
            case .awaits, .streams: false
            case .blocks, .blocksAtOnce, .asksBlocked: true
            }
        }
    }

    public struct Hold: ResponderMessage {
        public typealias Reply = String
        public var blocks: Bool
        public init(blocks: Bool) { self.blocks = blocks }
    }

    public struct HoldAtOnce: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    public struct HoldStream: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }

    public struct AskAbove: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }
}

/// Has a coordinator, or a pool of them, in its process or in workers.
public actor StubbornRoot: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var hasWorkers = false
        public var members: Int?
        /// Whether a member handles two messages at a time.
        public var arePairs = false
        public init() {}
    }

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public func start() async throws {
        let configuration = context.configuration
        let place = configuration.hasWorkers ? Placement.worker : .inProcess
        if let members = configuration.members, configuration.arePairs {
            try await context.start(StubbornPair.self, as: "pool", in: .pool(members, place)) { $0.notebook = configuration.notebook }
        } else if let members = configuration.members {
            try await context.start(StubbornCoordinator.self, as: "pool", in: .pool(members, place)) {
                $0.notebook = configuration.notebook
            }
        } else {
            try await context.start(StubbornCoordinator.self, as: "hall", in: place) { $0.notebook = configuration.notebook }
        }
    }
}

/// A serial coordinator; those of its rows that hold begin though others run.
public actor StubbornCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let mailbox = MailboxPolicy(running: 1)
    public static let cancellationGrace = Duration.milliseconds(300)

    public static let responders: Responders = [
        .respond(to: Stubborn.Hold.self, interleaves: true) { me, hold in
            me.note("holds")
            if hold.blocks { me.notebook.block(until: "go on") } else { await me.holdOn() }
            return "gone on"
        },
        .respond(to: Stubborn.HoldAtOnce.self) { me, _ in
            me.note("holds")
            me.notebook.block(until: "go on")
            return "gone on"
        },
        .stream(Stubborn.HoldStream.self) { me, _, replies in
            me.note("holds")
            try await replies.send("holding")
            await me.holdOn()
        },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
    ]

    public func start() async throws {
        try await context.start(StubbornClerk.self, as: "clerk") { [notebook] in $0.notebook = notebook }
    }

    private func holdOn() async {
        let notebook = notebook
        // A task of its own isn't cancelled with the handler.
        await Task { try? await notebook.wait(for: "go on") }.value
    }
}

/// Handles two messages at a time.
actor StubbornPair: Coordinator {
    typealias Configuration = NotebookConfiguration

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let mailbox = MailboxPolicy(running: 2)
    static let cancellationGrace = Duration.milliseconds(300)

    static let responders: Responders = [
        .respond(to: Stubborn.Hold.self) { me, _ in
            me.note("holds")
            let notebook = me.notebook
            await Task { try? await notebook.wait(for: "go on") }.value
            return "gone on"
        },
        .respond(to: Fixture.WhereAmI.self) { me, _ in .here(me.context) },
    ]
}

/// Asks the coordinator above in its own task.
actor StubbornClerk: Coordinator {
    typealias Configuration = NotebookConfiguration

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    static let cancellationGrace = Duration.milliseconds(300)

    static let responders: Responders = [
        .respond(to: Stubborn.AskAbove.self) { me, _ in try await me.context.ask(Stubborn.HoldAtOnce(), timeout: .seconds(60)) }
    ]
}
