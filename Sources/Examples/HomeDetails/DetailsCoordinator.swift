import Coordinators

/// Shows the details of one item.
actor DetailsCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        /// The item whose details are shown.
        var item = 0
    }

    enum Page: Codable, Sendable, Equatable {
        case details(item: Int)
    }

    enum Event: Codable, Sendable, Equatable {
        /// The screen is about to go, and the coordinator with it.
        case wentBack
    }

    let context: Context
    private let item: Int
    private var farewell: AsyncStream<Int>.Continuation?

    init(_ context: Context) {
        self.context = context
        item = context.configuration.item
    }

    deinit { farewell?.yield(item) }

    static let responders: Responders = [
        .respond(to: Details.Text.self, needs: \.detailsService) { me, _, service in try await service.text(of: me.item) },
        .respond(to: Details.GoBack.self) { me, _ in me.context.delegates => .wentBack },
    ]

    func start() async throws {
        farewell = context.dependencies.farewell
        context.show(.details(item: item))
    }
}
