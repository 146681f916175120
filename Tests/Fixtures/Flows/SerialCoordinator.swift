public import Coordinators

/// The messages of the tests of serial coordinators.
public enum Serial {
    /// Begins, waits until it's released, and ends.
    public struct Hold: ResponderMessage {
        public var name: String
        public init(_ name: String) { self.name = name }
    }

    /// Lets the handler that holds go on.
    ///
    /// Its row interleaves.
    public struct Release: ResponderMessage {
        public init() {}
    }

    /// Is noted down; its row doesn't await.
    public struct Note: ResponderMessage {
        public var name: String
        public init(_ name: String) { self.name = name }
    }

    /// Is noted down; its row awaits before.
    public struct LateNote: ResponderMessage {
        public var name: String
        public init(_ name: String) { self.name = name }
    }

    /// What was noted down so far.
    ///
    /// Its row interleaves.
    public struct Read: ResponderMessage {
        public typealias Reply = [String]
        public init() {}
    }

    /// Makes the coordinator do something that has a descendant, or itself, ask it.
    public struct Cause: ResponderMessage {
        public enum Way: String, Codable, Sendable, CaseIterable {
            /// It asks its helper, which asks back.
            case ask
            /// It waits for an event of its helper, which asks back before.
            case event
            /// It asks itself, through the chain.
            case itself
            /// It starts a child whose `start` hook asks back.
            case start
            /// It runs a child that asks back, and finishes then.
            case run
            /// It removes its helper, whose `stopped` hook asks back.
            case stop
            /// It holds until it's released, and then asks its helper, which answers when an earlier ask of its own is answered.
            case later
        }

        public var way: Way
        public init(_ way: Way) { self.way = way }
    }

    /// Makes the lowest helper ask the serial coordinator to note down a name.
    public struct Tell: ResponderMessage {
        public var name: String
        public init(_ name: String) { self.name = name }
    }

    /// As `Tell`, but the helper answers before its ask is answered.
    public struct TellSoon: ResponderMessage {
        public var name: String
        public init(_ name: String) { self.name = name }
    }

    /// Is answered by a helper when what it has begun by `TellSoon` is answered.
    public struct Join: ResponderMessage {
        public init() {}
    }

    /// Makes a helper read ticks from now on; it answers when it has the first.
    public struct ReadTicks: ResponderMessage {
        public init() {}
    }

    /// Replies for as long as its reader reads.
    public struct Ticks: ResponderMessage {
        public typealias Reply = Int
        public init() {}
    }
}

/// A coordinator that handles one message at a time, with a chain of helpers below.
public actor SerialCoordinator: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var helpersInWorkers = false
        /// The number of levels of helpers; the lowest asks back.
        public var levels = 1
        public init() {}
    }

    public static let mailbox = MailboxPolicy(running: 1)

    public nonisolated let context: Context
    private var notes: [String] = []
    private var holders: [CheckedContinuation<Void, Never>] = []

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Serial.Hold.self) { me, hold in
            me.notes.append("\(hold.name) begins")
            await withCheckedContinuation { me.holders.append($0) }
            me.notes.append("\(hold.name) ends")
        },
        .respond(to: Serial.Release.self, interleaves: true) { me, _ in
            for holder in me.holders { holder.resume() }
            me.holders = []
        },
        .respond(to: Serial.Note.self) { me, note in me.notes.append(note.name) },
        .respond(to: Serial.LateNote.self) { me, note in
            await Task.yield()
            me.notes.append(note.name)
        },
        .respond(to: Serial.Read.self, interleaves: true) { me, _ in me.notes },
        .respond(to: Serial.Cause.self) { me, cause in
            me.notes.append("cause begins")
            try await me.bring(about: cause.way)
            me.notes.append("cause ends")
        },
        .stream(Serial.Ticks.self) { _, _, replies in
            try await replies.send(1)
            try await Fixture.untilCancelled()
        },
    ]

    public func start() async throws {
        try await startHelper("helper") {
            $0.levels = configuration.levels
            $0.asks = .atStop
        }
    }

    private func startHelper(_ key: String, _ configure: (inout SerialHelper.Configuration) -> Void) async throws {
        try await context.start(SerialHelper.self, as: key, in: configuration.helpersInWorkers ? .worker : .inProcess) {
            ($0.notebook, $0.inWorkers) = (configuration.notebook, configuration.helpersInWorkers)
            configure(&$0)
        }
    }

    private func bring(about way: Serial.Cause.Way) async throws {
        guard let helper = context.child("helper", as: SerialHelper.self) else { return }
        switch way {
        case .ask: try await helper.ask(Serial.Tell("asked back"), timeout: .seconds(20))
        case .event:
            let events = helper.events()
            try await helper.send(Serial.Tell("asked back"))
            for await _ in events { break }
        case .itself: try await context.ask(Serial.LateNote("asked back"), timeout: .seconds(20))
        case .start: try await startHelper("starting") { $0.asks = .atStart }
        case .run:
            _ = try await context.run(SerialHelper.self, as: "running", in: configuration.helpersInWorkers ? .worker : .inProcess) {
                $0.asks = .whileRunning
            }
        case .stop: try await context.remove("helper")
        case .later:
            await withCheckedContinuation { holders.append($0) }
            try await helper.ask(Serial.Join(), timeout: .seconds(20))
        }
    }
}

/// A coordinator below a serial one, which asks it.
public actor SerialHelper: Coordinator {
    public enum Occasion: String, Codable, Sendable {
        case whenTold, atStart, whileRunning, atStop
    }

    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        /// The number of levels from this one down.
        public var levels = 1
        public var inWorkers = false
        public var asks = Occasion.whenTold
        public init() {}
    }

    public typealias Event = String

    public nonisolated let context: Context
    private var telling: Task<Void, any Error>?
    private var ticks: ReplyStream<Int>.Iterator?

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Serial.Tell.self) { me, tell in
            if let lower = me.context.child(SerialHelper.self) {
                try await lower.ask(tell, timeout: .seconds(20))
            } else {
                try await me.tell(tell.name)
            }
            me.context.delegates => "told"
        },
        .respond(to: Serial.TellSoon.self) { me, tell in
            me.telling = Task { try await me.tell(tell.name) }
        },
        .respond(to: Serial.ReadTicks.self) { me, _ in
            var ticks = me.context.stream(Serial.Ticks()).makeAsyncIterator()
            _ = try await ticks.next()
            me.ticks = ticks
        },
        .respond(to: Serial.Join.self) { me, _ in try await me.telling?.value },
    ]

    public func start() async throws {
        if configuration.asks == .atStart { try await tell("asked back") }
        guard configuration.levels > 1 else { return }
        try await context.start(SerialHelper.self, as: "lower", in: configuration.inWorkers ? .worker : .inProcess) {
            ($0.levels, $0.inWorkers) = (configuration.levels - 1, configuration.inWorkers)
        }
    }

    public func run() async throws {
        if configuration.asks == .whileRunning {
            try await tell("asked back")
            context.finish()
        }
        try await Fixture.untilCancelled()
    }

    public func stopped() async {
        guard configuration.asks == .atStop, (try? await tell("asked back")) != nil else { return }
        note("was answered")
    }

    private func tell(_ name: String) async throws { try await context.ask(Serial.LateNote(name), timeout: .seconds(20)) }
}
