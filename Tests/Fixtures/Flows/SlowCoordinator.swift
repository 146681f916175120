public import Coordinators

extension FixtureFlow {
    /// Takes its time to handle.
    public struct Load: ResponderMessage {
        public var number: Int
        public var padding: String
        public init(_ number: Int, padding: String = "") { (self.number, self.padding) = (number, padding) }
    }

    /// Sends loads as fast as they are taken, for a while.
    public struct Flood: ResponderMessage {
        public typealias Reply = Flooded
        public var milliseconds: Int
        public var bytes: Int
        public init(milliseconds: Int, bytes: Int) { (self.milliseconds, self.bytes) = (milliseconds, bytes) }
    }

    /// The results of the sends.
    public struct Flooded: Codable, Sendable, Hashable {
        public var begun = 0
        public var taken = 0
        public var refused = 0
        public var failed = 0
        public init() {}
    }

    /// Has the one who is asked ask the root.
    public struct EchoAbove: ResponderMessage {
        public typealias Reply = String
        public var text: String
        public init(_ text: String) { self.text = text }
    }
}

/// Handles one message after the other, each in its time, runs 4,096 at once, and has room for as many more, or sixteen mebibytes.
public actor SlowCoordinator: Coordinator {
    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        /// The time that each message takes.
        public var milliseconds = 1_000
        /// Blocks its executor while it handles, as hard work does; otherwise it awaits.
        public var blocks = false
        /// The number of sending workers that are started below it.
        public var senders = 0
        public init() {}
    }

    public static let mailbox = MailboxPolicy(running: 4_096, waiting: 4_096, bytes: 16 << 20, whenFull: .wait)

    public nonisolated let context: Context
    private var turn: CoordinatorClock.Instant?

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: FixtureFlow.Load.self) { me, load in
            me.note("load")
            try await me.takeTime()
        }
    ]

    public func start() async throws {
        try await context.start(SenderCoordinator.self, as: "neighbour")
        for number in 0..<configuration.senders {
            try await context.start(SenderCoordinator.self, as: "sender\(number)", in: .worker)
        }
    }

    private func takeTime() async throws {
        let time = Duration.milliseconds(configuration.milliseconds)
        guard !configuration.blocks else { return Fixture.block(time) }
        // One after the other: handlers interleave where they await.
        let now = context.clock.now
        turn = max(turn ?? now, now).advanced(by: time)
        if let turn { try await context.clock.sleep(until: turn) }
    }
}

/// Sends as fast as it's taken, and asks the root in between.
public actor SenderCoordinator: Coordinator {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: FixtureFlow.Flood.self) { me, flood in
            let context = me.context
            return await FixtureFlow.flood(flood) { try await context.send($0) }
        },
        .respond(to: FixtureFlow.EchoAbove.self) { me, echo in try await me.context.ask(Fixture.Echo(echo.text), timeout: .seconds(20)) },
    ]
}

extension FixtureFlow {
    /// Sends until the time is over, then cancels the send that is still waiting, and counts.
    public static func flood(_ flood: Flood, _ send: @escaping @Sendable (Load) async throws -> Bool) async -> Flooded {
        let padding = String(repeating: "x", count: flood.bytes)
        let sending = Task {
            var result = Flooded()
            while !Task.isCancelled {
                result.begun += 1
                do {
                    if try await send(Load(result.begun, padding: padding)) { result.taken += 1 } else { result.refused += 1 }
                } catch {
                    result.failed += 1
                }
            }
            return result
        }
        try? await Fixture.realTime(.milliseconds(flood.milliseconds), because: "it loads a coordinator for a bounded time")
        sending.cancel()
        return await sending.value
    }
}
