import Coordinators
import Glibc

/// A coordinator some levels below the root, which asks and sends what the root answers.
actor Hop: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        /// The number of levels from this one down.
        var levels = 1
        var place = Place.local
    }

    static let responders: Responders = [
        .respond(to: RoundTrips.Request.self) { me, request in try await me.percentiles(request) },
        .respond(to: UnhandledAsks.Request.self) { me, request in try await me.percentiles(request) },
        .respond(to: ConcurrentAsks.Request.self) { me, request in try await request.ask(me.context) },
        .respond(to: MessageNames.Request.self) { me, request in try await request.ask(me.context) },
        .respond(to: SlowConsumer.Send.self) { me, request in me.send(request) },
        .respond(to: OneWayMessages.Request.self) { me, request in try await me.send(request) },
    ]

    nonisolated let context: Context
    private let configuration: Configuration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    func start() async throws {
        guard configuration.levels > 1 else { return }
        try await context.start(Hop.self, as: "hop", in: configuration.place == .worker ? .worker : .inProcess) {
            ($0.levels, $0.place) = (configuration.levels - 1, configuration.place)
        }
    }
}
