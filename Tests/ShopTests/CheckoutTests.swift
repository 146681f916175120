import Coordinators
import TestSupport
import Testing
import WireProtocol

@Suite("Payment: the checkout", .timeLimit(minutes: 1))
struct CheckoutTests {
    @Test("The content of the cart becomes an order, and the cart is empty for the next one")
    func happy() async throws {
        try await RunningShop.with { shop in
            try await shop.logIn()
            try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "coffee", "quantity": 2])
            let order = try await shop.ask("/shop/payment", "Payment.Checkout")
            #expect(
                order == [
                    "number": 1, "customer": "ada", "total": 2_380, "currency": "EUR",
                    "items": [["sku": "coffee", "title": "Coffee beans, 500 g", "price": 1_190, "quantity": 2]],
                ]
            )
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 0)

            try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "tea"])
            // From the catalogue: it climbs to the shop, who knows that there is a payment section.
            let next = try await shop.ask("/shop/catalog", "Payment.Checkout")
            #expect(next["number"] == 2)
            #expect(next["total"] == 780)
        }
    }

    @Test("A customer who hasn't logged in can't pay, and an empty cart can't be paid")
    func sad() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "tea"])
            #expect(try await shop.refusal("/shop/payment", "Payment.Checkout") == "nobody is logged in: log in first")
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 1)

            try await shop.logIn()
            try await shop.ask("/shop/cart", "Cart.Clear")
            #expect(try await shop.refusal("/shop/payment", "Payment.Checkout") == "the cart is empty")
        }
    }

    @Test("An order is settled once, and products added meanwhile are in the next cart")
    func settledOnce() async throws {
        try await RunningShop.with { shop in
            try await shop.logIn()
            try await shop.ask("/shop/cart", "Cart.Add", ["sku": "tea", "quantity": 2])
            let cart = try await shop.ask("/shop/cart", "Cart.Contents")
            let order: JSONValue = [
                "number": cart["number"] ?? 0, "customer": "ada", "items": cart["lines"] ?? [], "total": 1_560, "currency": "EUR",
            ]
            try await shop.ask("/shop/cart", "Cart.Add", ["sku": "tea"])
            try await shop.ask("/shop/cart", "Cart.Add", ["sku": "milk"])
            for _ in 0..<2 {
                try await shop.ask("/shop/cart", "Cart.Settle", ["order": order])
                let next = try await shop.ask("/shop/cart", "Cart.Contents")
                #expect(next["number"] == 2)
                #expect(next["total"] == .integer(780 + 139))
            }
        }
    }
}
