import ConcurrencySupport
import Coordinators
import CoordinatorsSQLite
import CoordinatorsTesting
import Testing

enum DurableFlowsArticle {
    struct Order: Codable, Sendable {
        var number: Int
        var item = "book"
        var cents = 500
    }

    struct Receipt: Codable, Sendable, Hashable { var number: Int }

    enum Stock {
        struct Reserve: ResponderMessage {
            var item: String
            var key: String
        }
        struct Release: ResponderMessage { var key: String }
        struct Ship: ResponderMessage { var key: String }
    }

    enum Bank {
        struct Charge: ResponderMessage {
            typealias Reply = Receipt?
            var cents: Int
            var key: String
        }
        struct Refund: ResponderMessage {
            var charge: String
            var key: String
        }
    }

    enum Mail {
        struct Send: ResponderMessage { var text: String }
    }

    struct Buy: ResponderMessage {
        typealias Reply = Receipt
        var order: Order
    }

    // snippet: saga
    actor OrderCoordinator: DurableCoordinator {
        enum Page: String, Codable { case reserve, charge, ship }
        struct State: Codable { var order: Order; var receipt: Receipt? }
        typealias Configuration = Order
        typealias Output = Receipt

        let context: Context
        init(_ context: Context) { self.context = context }

        static func begin(_ order: Order) -> (State, Page?) { (State(order: order), .reserve) }

        func perform(_ page: Page, _ step: Step) async throws -> Change {
            let order = context.state.order
            switch page {
            case .reserve:
                try await context.ask(Stock.Reserve(item: order.item, key: step.key))
                return .show(.charge)
            case .charge:
                guard let receipt = try await context.ask(Bank.Charge(cents: order.cents, key: step.key)) else {
                    return .unwind(because: "the card was declined")
                }
                return .commit { flow in
                    flow.state.receipt = receipt
                    flow.send(Mail.Send(text: "charged: \(receipt.number)"))
                    flow.show(.ship)
                }
            case .ship:
                try await context.ask(Stock.Ship(key: step.key))
                return .commit { flow in flow.state.receipt.map { flow.finish($0) } }
            }
        }

        func undo(_ page: Page, _ step: Step) async throws {
            switch page {
            case .reserve: try await context.ask(Stock.Release(key: step.key))
            case .charge: try await context.ask(Bank.Refund(charge: step.key, key: step.undoKey))
            case .ship: break
            }
        }
    }
    // end

    actor OrdersCoordinator: Coordinator {
        let context: Context
        init(_ context: Context) { self.context = context }

        // snippet: parent
        func start() async throws { await context.provide(\.flows, .sqlite(at: "/var/lib/shop/orders.sqlite")) }
        func open(section key: String) async throws { try await context.resume(OrderCoordinator.self, as: key) }
        func buy(_ order: Order) async throws -> Receipt {
            try await context.run(OrderCoordinator.self, as: "\(order.number)", with: order)
        }
        // end

        static let responders: Responders = [
            .respond(to: Buy.self) { me, buy in try await me.buy(buy.order) },
            .respond(to: Stock.Reserve.self) { _, _ in },
            .respond(to: Stock.Release.self) { _, _ in },
            .respond(to: Stock.Ship.self) { _, _ in },
            .respond(to: Bank.Charge.self) { _, charge in Receipt(number: charge.cents) },
            .respond(to: Bank.Refund.self) { _, _ in },
            .respond(to: Mail.Send.self) { _, _ in },
        ]
    }

    static func look(into store: FlowStore) async throws {
        // snippet: reading
        let orders = try await store.read { try $0.rows("SELECT count(*) FROM orders") { $0.integer(0) } }
        try await store.backUp(to: "/var/backups/orders.sqlite")
        // end
        print(orders)
    }

    @Suite("The article on durable flows")
    struct Tests {
        @Test("An order survives a crash at each commit")
        func crashes() async throws {
            // A crash in the midst of the call's own commit ends the call: it's asked again.
            // snippet: tests
            try await withEveryCrash { store in
                try await withRuntime(OrdersCoordinator.self, dependencies: { $0.flows = store }) { runtime in
                    _ = try await runtime.ask(Buy(order: Order(number: 1)), at: "/")
                }
            }
            // end
        }
    }
}
