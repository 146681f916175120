import Coordinators
import CoordinatorsSQLite
import Processes
import TestSupport
import Testing
import WireProtocol

@Suite("Killed processes", .timeLimit(minutes: 2))
struct CrashTests {
    @Test("A cart whose process is killed comes back with its contents, under another pid and incarnation")
    func cart() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "apple", "quantity": 2])
            let before = try await shop.ask("/shop/cart", "Cart.Contents")
            #expect(before["count"] == 2)
            try await shop.kill("/shop/cart")
            #expect(try await shop.ask("/shop/cart", "Cart.Contents") == before)
            #expect(try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "apple"]) == 3)
        }
    }

    @Test("A customer stays logged in when the account's process is killed")
    func account() async throws {
        try await RunningShop.with { shop in
            try await shop.logIn()
            try await shop.kill("/shop/account")
            #expect(try await shop.ask("/shop/account", "Account.Current")["user"]?["name"] == "ada")
        }
    }

    @Test("A shop that is killed takes its sections with it, and comes back with all of them")
    func shop() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "apple"])
            var sections: [ProcessIdentity] = []
            for path in sectionPaths { sections.append(try await shop.process(of: path)) }
            try await shop.kill("/shop")
            #expect(sections.filter(\.isAlive).isEmpty)
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 1)
        }
    }

    @Test("A checkout pays each cart once, whichever process dies in its middle", arguments: sectionPaths + ["/shop"])
    func checkout(_ victim: CoordinatorPath) async throws {
        let carts = 3
        try await withTemporaryDirectory { directory in
            let database = directory.file("shop.sqlite")
            try await RunningShop.with(database: database) { shop in
                try await shop.logIn()
                for cart in 1...carts {
                    try await shop.ask("/shop/cart", "Cart.Add", ["sku": "tea"])
                    // The customer may have left a section, and the end of its former life may not be known yet: nothing dies then.
                    let process = await shop.livingProcess(of: victim)
                    async let order = shop.ask("/shop/payment", "Payment.Checkout", attempts: 1)
                    try await realTime(.milliseconds(cart * 7 % 20), because: "the process dies at another moment of each checkout")
                    try? process?.send(.kill)
                    let first = try? await order
                    await process?.waitUntilGone()

                    // Either it was paid and the answer is lost, or it wasn't, and is now.
                    let again = try? await shop.ask("/shop/payment", "Payment.Checkout")
                    #expect(first == nil || again == nil, "paid twice")
                    try await eventually("the next cart is empty") {
                        let next = try await shop.ask("/shop/cart", "Cart.Contents")
                        return next["count"] == 0 && next["number"] == .integer(Int64(cart) + 1)
                    }
                    try await eventually("the order has its end") {
                        (try? await shop.runtime.flow(CoordinatorPath(stringLiteral: "/shop/payment/\(cart)")))?.flow.status == .finished
                    }
                }
            }
            let totals = try Database(path: database + "-orders").rows("SELECT number, total FROM orders ORDER BY number") { $0.integer(1) }
            #expect(totals == Array(repeating: 780, count: carts))
        }
    }
}

let sectionPaths: [CoordinatorPath] = ["/shop/account", "/shop/catalog", "/shop/cart", "/shop/payment"]
