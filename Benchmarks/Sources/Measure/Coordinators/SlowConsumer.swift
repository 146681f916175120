import Coordinators

/// Handles one message a second, whatever is sent to it by the workers below.
actor SlowConsumer: Coordinator {
    /// A message that takes a second to handle.
    struct Note: ResponderMessage {
        var bytes: [UInt8]
    }

    struct Configuration: CoordinatorConfiguration {
        /// The number of workers below that can send.
        var senders = 10
    }

    /// Starts a task of a sender, which sends as fast as it may, for good.
    struct Send: ResponderMessage {
        var payload: Int
    }

    static let mailbox = MailboxPolicy(running: 1, waiting: 1_000_000, bytes: 32 << 20)

    static let responders: Responders = [
        .respond(to: Note.self) { _, _ in try await Task.sleep(for: .seconds(1)) }
    ]

    nonisolated let context: Context
    private let configuration: Configuration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    func start() async throws {
        for number in 1...configuration.senders { try await context.start(Hop.self, as: "sender-\(number)", in: .worker) }
    }
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
