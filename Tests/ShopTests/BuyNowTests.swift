import Coordinators
import TestSupport
import Testing
import WireProtocol

@Suite("Buy now", .timeLimit(minutes: 1))
struct BuyNowTests {
    @Test("Buying now leads from the catalogue into the cart, through the checkout, to the receipt")
    func happy() async throws {
        try await RunningShop.with { shop in
            try await shop.logIn()
            let order = try await shop.ask("/shop/catalog", "Catalog.BuyNow", ["sku": "tea"])
            #expect(order["total"] == 780)
            // The badge has seen what went into the cart; the payment section has been opened, and shows the receipt.
            #expect(try await shop.ask("/shop/catalog", "Catalog.Badge") == 1)
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 0)
            try await shop.shows("/shop/payment", [["receipt": ["_0": order]]])
            #expect(try await shop.runtime.navigation().last?.path == "/shop/payment")

            let next = try await shop.ask("/shop/cart", "Catalog.BuyNow", ["sku": "milk"])
            #expect(next["number"] == 2)
            try await shop.shows("/shop/payment", [["receipt": ["_0": next]]])
        }
    }

    @Test("A customer who isn't logged in buys nothing, and finds the product in the cart")
    func stranger() async throws {
        try await RunningShop.with { shop in
            let refusal = try await shop.refusal("/shop/catalog", "Catalog.BuyNow", ["sku": "tea"])
            #expect(refusal == "nobody is logged in: log in first")
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 1)
            #expect(try await shop.pages("/shop/payment").isEmpty)
        }
    }

    @Test("A product that doesn't exist can't be bought")
    func unknown() async throws {
        try await RunningShop.with { shop in
            try await shop.logIn()
            let refusal = try await shop.refusal("/shop/catalog", "Catalog.BuyNow", ["sku": "unicorn"])
            #expect(refusal == "there is no product 'unicorn': ask Catalog.Products for what there is")
        }
    }
}
