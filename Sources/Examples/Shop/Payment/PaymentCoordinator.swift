import Coordinators
import CoordinatorsSQLite

/// The payment section: it turns the cart into an order.
///
/// The section needs the customer and the cart, which are in other sections. It asks for them without knowing where they are: the messages
/// climb. The payment itself is a durable flow, a child of the section's: it's finished though the section dies in its middle.
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
        .respond(to: Payment.Checkout.self) { me, _ in try await me.checkOut() }
    ]

    func start() async throws { await context.provide(\.flows, .sqlite(at: configuration.orders)) }

    /// Goes on with an order that a former life has left.
    func open(section order: String) async throws { try await context.resume(OrderCoordinator.self, as: order) }

    /// Shows the page in place of the one before it: a receipt is no step on the way to the next payment.
    func display(page: PaymentPage) async throws {
        context.setRoot(page)
    }

    /// Pays the cart, exactly once.
    ///
    /// Any process may die at any moment. The flow goes on, whoever waits for it, and a customer who asks again joins it.
    private func checkOut() async throws -> Order {
        guard let user = try await context.ask(Account.Current()).user else { throw ShopError.notLoggedIn }
        let cart = try await context.ask(Cart.Contents())
        guard cart.count > 0 else { throw ShopError.emptyCart }
        context.setRoot(.checkout)
        let order = try await context.run(
            OrderCoordinator.self,
            as: "\(cart.number)",
            with: OrderCoordinator.Configuration(number: cart.number, customer: user.name, currency: configuration.currency)
        )
        context.replaceTop(.receipt(order))
        return order
    }
}
