public import Coordinators

public enum Order {
    /// Asks and sends notes from 0, in turns, sixteen of them under way at once.
    public struct Run: ResponderMessage {
        public var count: Int
        public init(_ count: Int) { self.count = count }
    }

    /// A note of any size.
    public struct Padded: ResponderMessage {
        public var number: Int
        public var padding: String
        public init(_ number: Int, padding: String) { (self.number, self.padding) = (number, padding) }
    }
}

/// Answers notes without awaiting anything.
public actor OrderKeeper: Coordinator {
    public nonisolated let context: Context
    private var notes: [Int] = []

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Fixture.Note.self) { me, note in me.notes.append(note.number) },
        .respond(to: Order.Padded.self) { me, note in me.notes.append(note.number) },
        .respond(to: Fixture.Notes.self) { me, _ in me.notes },
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
        .respond(to: Order.Run.self) { me, run in try await me.sendNotes(run.count) }
    ]

    private func sendNotes(_ count: Int) async throws {
        let context = context
        var underWay: [Task<Void, any Error>] = []
        for number in 0..<count {
            // On its way at once, before the next begins.
            underWay.append(
                Task.immediate {
                    if number % 2 == 0 {
                        try await context.ask(Fixture.Note(number), timeout: .seconds(60))
                    } else {
                        _ = try await context.send(Fixture.Note(number))
                    }
                }
            )
            guard underWay.count == 16 || number == count - 1 else { continue }
            for task in underWay { try await task.value }
            underWay = []
        }
    }
}
