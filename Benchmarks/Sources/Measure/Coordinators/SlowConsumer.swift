import Coordinators

/// Handles one message a second, whatever is sent to it by the workers below.
actor SlowConsumer: Coordinator {
    /// A message that takes a second to handle.
    struct Note: ResponderMessage {
        var bytes: [UInt8]
    }

    /// Starts workers that send as fast as they may.
    struct StartSenders: ResponderMessage {
        var count: Int
        var payload: Int
    }

    /// Starts a task of a sender that sends for good.
    struct Send: ResponderMessage {
        var payload: Int
    }

    static let mailbox = MailboxPolicy(running: 1, waiting: 1_000_000, bytes: 32 << 20)

    static let responders: [Responder<SlowConsumer>] = [
        .respond(to: Note.self) { _, _ in try await Task.sleep(for: .seconds(1)) },
        // Not held back by the note that is being handled.
        .respond(to: StartSenders.self, interleaves: true) { me, request in
            for number in 1...request.count {
                let sender = try await me.context.start(Hop.self, as: "sender-\(number)", in: .worker)
                try await sender.send(Send(payload: request.payload))
            }
        },
    ]

    nonisolated let context: Context<SlowConsumer>

    init(_ context: Context<SlowConsumer>, _ configuration: Configuration) { self.context = context }
}

extension Hop {
    /// Sends to the slow consumer as fast as it may, for good.
    nonisolated func send(_ request: SlowConsumer.Send) {
        context.task { [context] in
            let note = SlowConsumer.Note(bytes: [UInt8](repeating: 120, count: request.payload))
            while true { try await context.send(note) }
        }
    }
}
