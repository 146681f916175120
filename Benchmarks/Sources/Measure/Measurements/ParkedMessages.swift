import Coordinators
import Synchronization

/// Messages for a coordinator that is being restarted: the time from the first of them to the answer of the last, which begins when all wait.
struct ParkedMessages: Measurement {
    /// Makes the root measure; answered with nanoseconds.
    struct Request: ResponderMessage {
        typealias Reply = Int64
        var messages: Int
    }

    /// A coordinator whose start takes until it's let go.
    actor Gate: Coordinator {
        struct Knock: ResponderMessage {
            var number: Int
        }

        /// Answered with the number of messages that this life has handled.
        struct Count: ResponderMessage { typealias Reply = Int }

        /// The end of the wait of each life that begins; `nil`: none waits.
        static let waits = Mutex<AsyncStream<Void>?>(nil)

        static let responders: Responders = [
            .respond(to: Knock.self) { me, _ in me.knocks += 1 },
            .respond(to: Count.self) { me, _ in me.knocks },
        ]

        nonisolated let context: Context
        private var knocks = 0

        init(_ context: Context) { self.context = context }

        func start() async throws {
            guard let wait = Self.waits.withLock({ $0 }) else { return }
            for await _ in wait { break }
        }
    }

    private static let turns = 20

    let messages: Int

    init(_ arguments: inout Arguments) throws { messages = try arguments.take("messages", default: 100) }

    func measure(_ runtime: CoordinatorRuntime) async throws {
        _ = try await runtime.ask(Request(messages: 10), timeout: .seconds(60))
        var times: [Int64] = []
        for _ in 0..<Self.turns { times.append(try await runtime.ask(Request(messages: messages), timeout: .seconds(60))) }
        Figures.print("time", times.sorted()[Self.turns / 2])
    }
}

extension ParkedMessages.Request {
    @concurrent
    func measure(_ root: Root.Context) async throws -> Int64 {
        typealias Gate = ParkedMessages.Gate
        Gate.waits.withLock { $0 = nil }
        let child = try await root.start(Gate.self, as: "gate")
        let (wait, end) = AsyncStream.makeStream(of: Void.self)
        Gate.waits.withLock { $0 = wait }
        async let restart: Void = child.restart()
        while child.state != .restarting && child.state != .starting { await Task.yield() }
        let time = try await Clock.duration {
            try await withThrowingDiscardingTaskGroup { group in
                // Each waits for the life that begins.
                for number in 0..<messages { group.addImmediateTask { _ = try await child.send(Gate.Knock(number: number)) } }
                end.finish()
            }
            guard try await child.ask(Gate.Count(), timeout: .seconds(60)) == messages else { throw UsageError("messages are lost") }
        }
        try await restart
        await child.remove()
        return time
    }
}
