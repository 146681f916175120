import Coordinators

/// The cart section, with the products that the customer wants to buy.
///
/// The cart is in the database and not in the actor, so that a process that is killed loses nothing: its successor reads the cart there.
actor CartCoordinator: Coordinator {
    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Cart.Add.self, needs: \.database) { me, add, database in
            guard Cart.Add.quantities.contains(add.quantity) else { throw ShopError.invalidQuantity(add.quantity) }
            return try await database.addToCart(sku: add.sku, quantity: add.quantity)
        },
        .respond(to: Cart.Contents.self, needs: \.database) { _, _, database in try await database.cart() },
        .respond(to: Cart.Clear.self, needs: \.database) { _, _, database in try await database.clearCart() },
        .respond(to: Cart.Renumber.self, needs: \.database) { _, cart, database in try await database.renumberCart(cart.number) },
        .respond(to: Cart.Settle.self, needs: \.database) { _, settle, database in try await database.settleCart(settle.order) },
    ]
}
