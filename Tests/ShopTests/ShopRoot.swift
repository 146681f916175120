import Coordinators
import WireProtocol

/// A root as a daemon has one: it starts the shop by name, from a program that it wasn't built into.
actor ShopRoot: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var executable = ""
        var shop: JSONValue = [:]
    }

    let context: Context
    private let configuration: Configuration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    func start() async throws {
        try await context.start(
            worker: "ShopCoordinator",
            as: "shop",
            executable: configuration.executable,
            configuration: configuration.shop
        )
    }
}
