import Coordinators

/// A third build: the root of a tree with a worker of each of two other programs, which it knows none of the types of.
public enum VersionRelay {
    /// Runs the tree, and prints what came of it.
    ///
    /// - Parameters:
    ///   - cart: The program of the cart.
    ///   - client: The program of the client.
    public static func main(cart: String, client: String) async throws {
        let runtime = CoordinatorRuntime(PassingCoordinator.self) { ($0.cart, $0.client) = (cart, client) }
        try await runtime.start()
        var trial = Trial()
        trial.results["up"] = try await runtime.ask(AskAll(), at: "/client", timeout: .seconds(60))
        var named: [String: String] = [:]
        for name in ["Cart.Count", "Basket.Size"] {
            named[name] = await outcome { "\(try await runtime.ask(named: name, payload: [:], at: "/cart"))" }
        }
        named["Cart.AddItem"] = await outcome {
            "\(try await runtime.ask(named: "Cart.AddItem", payload: ["sku": "full"], at: "/cart"))"
        }
        trial.results["named"] = named
        await runtime.stop()
        print(try trial.json)
    }
}

/// Knows none of the others' messages, and hands them on.
private actor PassingCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        var cart = ""
        var client = ""
    }

    enum ChildKey: String, CoordinatorKey { case cart, client }

    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .intercept(prefix: "Cart.") { _, _, chain in try await chain.next() },
        .forward(prefix: "Cart.", to: .cart),
        .forward(prefix: "Basket.", to: .cart),
    ]

    func start() async throws {
        try await context.start(worker: "CartCoordinator", as: .cart, executable: context.configuration.cart)
        try await context.start(worker: "ClientCoordinator", as: .client, executable: context.configuration.client)
    }
}
