import Coordinators

/// A coordinator that handles one message at a time, and has the asker below it.
actor Serial: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var place = Place.local
    }

    static let mailbox = MailboxPolicy(running: 1)

    static let responders: Responders = [
        .respond(to: EchoSerial.self) { _, echo in
            await Serial.nothing()
            return echo.bytes
        }
    ]

    nonisolated let context: Context
    private let configuration: Configuration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    func start() async throws {
        try await context.start(Hop.self, as: "hop", in: configuration.place == .worker ? .worker : .inProcess)
    }

    /// What a row awaits that has nothing to wait for.
    @concurrent
    private static func nothing() async {}
}
