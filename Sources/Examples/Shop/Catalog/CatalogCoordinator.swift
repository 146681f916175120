import Coordinators

/// The catalogue section: it shows products, and on each of its pages the cart's symbol with its badge.
actor CatalogCoordinator: Coordinator {
    typealias Configuration = ShopConfiguration

    let context: Context<CatalogCoordinator>
    private let database: ShopDatabase
    private var badge = 0

    init(_ context: Context<CatalogCoordinator>, _ configuration: ShopConfiguration) {
        self.context = context
        database = ShopDatabase(path: configuration.database)
    }

    static let responders: [Responder<CatalogCoordinator>] = [
        .respond(to: Catalog.Products.self) { me, _ in try await me.database.products() },
        .respond(to: Catalog.Find.self) { me, find in try await me.database.product(sku: find.sku) },
        .respond(to: Catalog.Badge.self) { me, _ in me.badge },

        // Adding to the cart is somebody else's business, whose this section can't know. But the message passes here on its way up,
        // and the reply on its way down.
        .intercept(Cart.Add.self) { me, add, chain in
            let count = try await chain.next(add)
            me.badge = count
            return count
        },
    ]

    /// A section without its database isn't ready.
    func start() async throws {
        try database.open()
    }
}
