import Coordinators
import VersionSupport

/// Knows none of the others' messages, and hands them on.
private actor RelayCoordinator: Coordinator {
    enum ChildKey: String, CoordinatorKey { case cart, client }

    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .intercept(prefix: "Cart.") { _, _, chain in try await chain.next() },
        .forward(prefix: "Cart.", to: .cart),
        .forward(prefix: "Basket.", to: .cart),
    ]

    func start() async throws {
        try await context.start(worker: "CartCoordinator", as: .cart, executable: CommandLine.arguments[1])
        try await context.start(worker: "ClientCoordinator", as: .client, executable: CommandLine.arguments[2])
    }
}

// A third build: runs a tree with a worker of each of the two programs that the arguments name, and prints what came of it.
let runtime = CoordinatorRuntime(RelayCoordinator.self)
try await runtime.start()
var trial = Trial()
trial.results["up"] = try await runtime.ask(AskAll(), at: "/client", timeout: .seconds(60))
var named: [String: String] = [:]
for name in ["Cart.Count", "Basket.Size"] {
    named[name] = await outcome { "\(try await runtime.ask(named: name, payload: [:], at: "/cart"))" }
}
named["Cart.AddItem"] = await outcome { "\(try await runtime.ask(named: "Cart.AddItem", payload: ["sku": "full"], at: "/cart"))" }
trial.results["named"] = named
await runtime.stop()
print(try trial.json)
