public import Coordinators

public enum Order {
    /// Answered, or taken, in turn.
    public struct Tick: ResponderMessage {
        public typealias Reply = Int
        public var number: Int
        public init(_ number: Int) { self.number = number }
    }

    /// Asks and sends ticks from 0, in turns, sixteen of them under way at once.
    public struct Run: ResponderMessage {
        public var count: Int
        public init(_ count: Int) { self.count = count }
    }

    /// The numbers of the ticks, as they began.
    public struct Ticks: ResponderMessage {
        public typealias Reply = [Int]
        public init() {}
    }
}

/// Answers ticks without awaiting anything.
public actor OrderKeeper: Coordinator {
    public nonisolated let context: Context
    private var ticks: [Int] = []

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Order.Tick.self) { me, tick in
            me.ticks.append(tick.number)
            return me.ticks.count
        },
        .respond(to: Order.Ticks.self) { me, _ in me.ticks },
    ]

    public func start() async throws {
        try await context.start(OrderSender.self, as: "sender")
    }
}

/// Sends in its parent's process.
public actor OrderSender: Coordinator {
    public nonisolated let context: Context
    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Order.Run.self) { me, run in try await me.tick(run.count) }
    ]

    private func tick(_ count: Int) async throws {
        let context = context
        var underWay: [Task<Void, any Error>] = []
        for number in 0..<count {
            // On its way at once, before the next begins.
            underWay.append(
                Task.immediate {
                    if number % 2 == 0 {
                        _ = try await context.ask(Order.Tick(number), timeout: .seconds(60))
                    } else {
                        try await context.send(Order.Tick(number))
                    }
                }
            )
            guard underWay.count == 16 || number == count - 1 else { continue }
            for task in underWay { try await task.value }
            underWay = []
        }
    }
}
