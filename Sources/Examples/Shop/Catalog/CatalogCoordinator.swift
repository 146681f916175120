import Coordinators

/// The catalogue section: it shows products, and on each of its pages the cart's symbol with its badge.
actor CatalogCoordinator: Coordinator {
    typealias Page = CatalogPage

    let context: Context
    private var badge = 0
    private var promoted: [Product]?

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Catalog.Products.self, needs: \.database) { _, _, database in try await database.products() },
        .respond(to: Catalog.Find.self, needs: \.database) { _, find, database in try await database.product(sku: find.sku) },
        .respond(to: Catalog.Badge.self) { me, _ in me.badge },
        .respond(to: Catalog.BuyNow.self) { me, buy in try await me.buyNow(buy.sku) },
        .stream(Catalog.Promoted.self) { me, _, replies in try await me.findPromoted(for: replies) },

        // Another section answers this message, and this one doesn't know which. But the message passes here on its way up, and the reply
        // on its way down.
        .intercept(Cart.Add.self) { me, add, chain in
            let count = try await chain.next(add)
            me.badge = count
            return count
        },
    ]

    /// Shows the list, which a customer sees first.
    func start() async throws {
        context.show(.list())
    }

    /// Goes back to the list, or on to a product.
    ///
    /// The list is at the bottom: the customer has then left the sections above it, and they end.
    func display(page: CatalogPage) async throws {
        switch page {
        case .list:
            for try await products in context.stream(Catalog.Promoted()) {
                context.setRoot(.list(promoted: products.map(\.sku)))
            }
        case .product(let sku):
            _ = try await context.ask(Catalog.Find(sku: sku))
            context.show(page)
        }
    }

    /// Sends the products of the last promotion at once, then those of the present one.
    private func findPromoted(for replies: Replies<Catalog.Promoted>) async throws {
        if let promoted { try await replies.send(promoted) }
        guard let database = context.dependencies.database else { throw ShopError.notOpenYet }
        let fresh = try await database.promotedProducts()
        promoted = fresh
        try await replies.send(fresh)
    }

    /// Sends two messages that climb; the first one passes the row above, so the badge counts the product.
    private func buyNow(_ sku: String) async throws -> Order {
        _ = try await context.ask(Cart.Add(sku: sku))
        return try await context.ask(Payment.Checkout())
    }
}
