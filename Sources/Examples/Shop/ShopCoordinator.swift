import Coordinators

/// The whole shop: it opens the four sections, each in a process of its own, and passes messages on between them.
///
/// A section knows only its parent. The catalogue lets `Cart.Add` climb without knowing which section will answer, or that there is a cart
/// at all; only the shop knows that.
actor ShopCoordinator: Coordinator {
    typealias Configuration = ShopConfiguration
    typealias Page = ShopPage
    enum ChildKey: String, CoordinatorKey, CaseIterable { case account, catalog, cart, payment }

    let context: Context
    let configuration: ShopConfiguration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration.resolved
    }

    /// Restarts a section that dies, and only that one.
    ///
    /// If a section keeps dying, the failure becomes the shop's own, and its parent restarts all of it.
    static let supervision = SupervisionPolicy(.oneForOne, intensity: 5, period: .seconds(60))

    static let responders: Responders = [
        .respond(to: Shop.Status.self) { me, _ in me.configuration },
        .respond(to: Shop.Open.self) { me, wanted in try await me.open(wanted.section) },
        .respond(to: Cart.Toggle.self) { me, _ in me.toggleCart() },

        .forward(prefix: "Account.", to: .account),
        .forward(prefix: "Catalog.", to: .catalog),
        .forward(prefix: "Cart.", to: .cart),
        .forward(prefix: "Payment.", to: .payment),
    ]

    /// Prepares the database before any section opens it, then opens the sections one by one.
    func start() async throws {
        try await ShopDatabase(path: configuration.database).prepare()
        await context.provide(\.database, describedBy: configuration.database)
        context.show(.storefront)
        for section in ChildKey.allCases { try await open(section: section) }
    }

    /// Shows the cart, unless it is shown.
    func display(page: ShopPage) async throws {
        if page == .cart, !context.pages.contains(.cart) { context.present(.cart) }
    }

    private func toggleCart() {
        if context.pages.contains(.cart) { context.dismiss() } else { context.present(.cart) }
    }
}
