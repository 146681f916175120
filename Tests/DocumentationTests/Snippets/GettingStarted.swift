import Coordinators

// snippet: messages
enum Cart {
    struct Add: ResponderMessage {
        typealias Reply = Int
        typealias Failure = Full
        var sku: String
    }

    struct Full: ResponderError { var limit: Int }
}
// end

// snippet: coordinator
actor CartCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration { var limit = 100 }

    let context: Context
    private let limit: Int
    private var skus: [String] = []

    init(_ context: Context) {
        self.context = context
        limit = context.configuration.limit
    }

    static let responders: Responders = [
        .respond(to: Cart.Add.self) { me, add in
            guard me.skus.count < me.limit else { throw Cart.Full(limit: me.limit) }
            me.skus.append(add.sku)
            return me.skus.count
        }
    ]
}
// end

// snippet: parent
actor AppCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case cart, catalog }

    let context: Context

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Cart.Add.self) { me, add in
            let cart = try await me.context.start(CartCoordinator.self, as: .cart, in: .worker) { $0.limit = 2 }
            return try await cart.ask(add)
        }
    ]

    func start() async throws {
        try await context.start(CatalogCoordinator.self, as: .catalog)
    }
}
// end

actor CatalogCoordinator: Coordinator {
    let context: Context
    private var badge = 0

    init(_ context: Context) { self.context = context }

    // snippet: interceptor
    static let responders: Responders = [
        .intercept(Cart.Add.self) { me, add, chain in
            let count = try await chain.next(add)
            me.badge = count
            return count
        }
    ]
    // end

    // snippet: ask
    func buy(_ sku: String) async throws -> String {
        do {
            let count = try await context.ask(Cart.Add(sku: sku))
            return "\(count) in the cart"
        } catch let full as Cart.Full {
            return "no more than \(full.limit), please"
        } catch let error as CoordinatorError where error.code == .unhandled {
            return "there is no cart here"
        }
    }
    // end
}

struct ShopProgram {
    // snippet: program
    static func main() async throws {
        try await CoordinatorRuntime.main(AppCoordinator.self, coordinators: [CartCoordinator.self])
    }
    // end
}
