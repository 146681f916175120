import Coordinators
import CoordinatorsSQLite
import FoundationEssentials

/// The way of a cart to an order: a durable flow, which goes on where it was when any process has died.
///
/// A page is done at least once, and what it leads to is noted once: the content of the cart doesn't change once it's priced, whatever is added
/// meanwhile, and the order is in the table when the flow is finished, and only then.
actor OrderCoordinator: DurableCoordinator {
    /// The cart that is paid.
    struct Configuration: Codable, Sendable {
        /// The number of the cart.
        var number: Int
        var customer: String
        var currency: String
    }

    struct State: Codable, Sendable { var order: Order }

    enum Page: String, Codable, Sendable { case price, charge, settle }

    typealias Output = Order

    let context: Context

    init(_ context: Context) { self.context = context }

    static func begin(_ cart: Configuration) -> (State, Page?) {
        (State(order: Order(number: cart.number, customer: cart.customer, items: [], total: 0, currency: cart.currency)), .price)
    }

    func perform(_ page: Page, _ step: Step) async throws -> Change {
        let order = context.state.order
        switch page {
        case .price:
            let cart = try await context.ask(Cart.Contents())
            guard cart.number == order.number, cart.count > 0 else { return .unwind(because: "cart \(order.number) is empty") }
            return .commit { flow in
                (flow.state.order.items, flow.state.order.total) = (cart.lines, cart.total)
                flow.show(.charge)
            }
        case .charge:
            // Here a shop would charge the customer's card, with `step.key` as the key under which the bank knows the payment.
            return .show(.settle)
        case .settle:
            try await context.ask(Cart.Settle(order: order))
            return .commit { flow in
                flow.write { database in try order.insert(into: database) }
                flow.finish(order)
            }
        }
    }

    func undo(_ page: Page, _ step: Step) async throws {
        switch page {
        // What is left of the cart can be paid as another one.
        case .price: try await context.ask(Cart.Renumber(number: context.state.order.number))
        // Here a shop would refund `step.key`, should an operator cancel the order.
        case .charge, .settle: break
        }
    }
}

extension Order {
    /// Adds the order to the table of orders, which is in the file of the flows: the two can't differ.
    fileprivate func insert(into database: Database) throws {
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS orders (
                number INTEGER PRIMARY KEY, customer TEXT NOT NULL, items TEXT NOT NULL, total INTEGER NOT NULL, currency TEXT NOT NULL
            )
            """
        )
        let items = String(decoding: try JSONEncoder().encode(items), as: UTF8.self)
        try database.execute("INSERT INTO orders VALUES (\(number), \(customer), \(items), \(total), \(currency))")
    }
}
