import Coordinators
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

    @Test("A checkout that is repeated after any process has died in its middle pays the cart once", arguments: sectionPaths + ["/shop"])
    func checkout(_ victim: CoordinatorPath) async throws {
        try await RunningShop.with { shop in
            try await shop.logIn()
            try await shop.ask("/shop/cart", "Cart.Add", ["sku": "tea"])
            let process = try await shop.process(of: victim)
            async let order = shop.ask("/shop/payment", "Payment.Checkout", attempts: 1)
            try process.send(.kill)
            let first = try? await order
            await process.waitUntilGone()

            // Either it was paid and the answer is lost, or it wasn't, and is now.
            let again = try? await shop.ask("/shop/payment", "Payment.Checkout")
            #expect(first == nil || again == nil, "paid twice")
            try await eventually("the cart is empty") {
                try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 0
            }
            let number = try await shop.ask("/shop/cart", "Cart.Contents")["number"]
            #expect(number == 2)
        }
    }
}

let sectionPaths: [CoordinatorPath] = ["/shop/account", "/shop/catalog", "/shop/cart", "/shop/payment"]
