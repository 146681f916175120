import Coordinators

/// The payment section: it turns the cart into an order.
///
/// It needs the customer and the cart, which are in other sections. It asks for them without knowing where: the messages climb.
actor PaymentCoordinator: Coordinator {
    typealias Configuration = ShopConfiguration

    let context: Context<PaymentCoordinator>
    private let configuration: ShopConfiguration
    private let database: ShopDatabase

    init(_ context: Context<PaymentCoordinator>, _ configuration: ShopConfiguration) {
        self.context = context
        self.configuration = configuration
        database = ShopDatabase(path: configuration.database)
    }

    static let responders: [Responder<PaymentCoordinator>] = [
        .respond(to: Payment.Checkout.self) { me, _ in try await me.checkOut() }
    ]

    /// A section without its database isn't ready.
    func start() async throws {
        try database.open()
    }

    /// Pays the cart, exactly once.
    ///
    /// Any of the three processes may die between any two of these lines. Asked again, the checkout goes on where it ended: the order
    /// has its cart's number, so it is placed once, and settling it is idempotent.
    private func checkOut() async throws -> Order {
        guard let user = try await context.ask(Account.Current()).user else { throw ShopError.notLoggedIn }
        let cart = try await context.ask(Cart.Contents())
        guard cart.count > 0 else { throw ShopError.emptyCart }
        // Here a shop would charge the customer's card, with the cart's number as the key under which the bank knows the payment.
        let order = try await database.place(
            Order(number: cart.number, customer: user.name, items: cart.lines, total: cart.total, currency: configuration.currency)
        )
        try await context.ask(Cart.Settle(order: order))
        return order
    }
}
