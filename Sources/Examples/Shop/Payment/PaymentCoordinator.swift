import Coordinators

/// The payment section: it turns the cart into an order.
///
/// The section needs the customer and the cart, which are in other sections. It asks for them without knowing where they are: the messages
/// climb.
actor PaymentCoordinator: Coordinator {
    typealias Configuration = ShopConfiguration
    typealias Page = PaymentPage

    let context: Context
    private let configuration: ShopConfiguration

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    static let responders: Responders = [
        .respond(to: Payment.Checkout.self, needs: \.database) { me, _, database in try await me.checkOut(database) }
    ]

    /// Shows the page in place of the one before it: a receipt is no step on the way to the next payment.
    func display(page: PaymentPage) async throws {
        context.setRoot(page)
    }

    /// Pays the cart, exactly once.
    ///
    /// Any of the three processes may die between any two of these lines. When the customer asks again, the checkout continues: the order
    /// has its cart's number, so it is placed once, and settling it is idempotent.
    private func checkOut(_ database: ShopDatabase) async throws -> Order {
        guard let user = try await context.ask(Account.Current()).user else { throw ShopError.notLoggedIn }
        let cart = try await context.ask(Cart.Contents())
        guard cart.count > 0 else { throw ShopError.emptyCart }
        context.setRoot(.checkout)
        // Here a shop would charge the customer's card, with the cart's number as the key under which the bank knows the payment.
        let order = try await database.place(
            Order(number: cart.number, customer: user.name, items: cart.lines, total: cart.total, currency: configuration.currency)
        )
        try await context.ask(Cart.Settle(order: order))
        context.replaceTop(.receipt(order))
        return order
    }
}
