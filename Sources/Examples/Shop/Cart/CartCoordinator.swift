import Coordinators

/// The cart section: what the customer wants to buy.
///
/// The cart is in the database and not in the actor, so that a process that is killed loses nothing: its successor reads it there.
actor CartCoordinator: Coordinator {
    typealias Configuration = ShopConfiguration

    let context: Context<CartCoordinator>
    private let database: ShopDatabase

    init(_ context: Context<CartCoordinator>, _ configuration: ShopConfiguration) {
        self.context = context
        database = ShopDatabase(path: configuration.database)
    }

    static let responders: [Responder<CartCoordinator>] = [
        .respond(to: Cart.Add.self) { me, add in try await me.add(add) },
        .respond(to: Cart.Contents.self) { me, _ in try await me.database.cart() },
        .respond(to: Cart.Clear.self) { me, _ in try await me.database.clearCart() },
        .respond(to: Cart.Settle.self) { me, settle in try await me.database.settleCart(settle.order) },
    ]

    /// A section without its database isn't ready.
    func start() async throws {
        try database.open()
    }

    private func add(_ add: Cart.Add) async throws -> Int {
        guard Cart.Add.quantities.contains(add.quantity) else { throw ShopError.invalidQuantity(add.quantity) }
        return try await database.addToCart(sku: add.sku, quantity: add.quantity)
    }
}
