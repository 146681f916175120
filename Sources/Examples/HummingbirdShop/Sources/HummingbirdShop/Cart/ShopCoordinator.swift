import Coordinators

/// The root, in the process of the HTTP server.
actor ShopCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case cart }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Stock.Price.self) { _, price in
            guard let cents = ["apple": 40, "bread": 320][price.sku] else { throw Cart.UnknownProduct(sku: price.sku) }
            return cents
        }
    ]

    func start() async throws {
        try await context.start(CartCoordinator.self, as: .cart, in: .worker, shutdown: .draining(.seconds(10)))
    }
}
