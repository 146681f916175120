import Coordinators
import TestSupport
import Testing
import WireProtocol

@Suite("Catalogue and cart", .timeLimit(minutes: 1))
struct CartTests {
    @Test("A product added in the catalogue is in the cart, and the catalogue's badge has counted it")
    func badge() async throws {
        try await RunningShop.with { shop in
            #expect(try await shop.ask("/shop/catalog", "Catalog.Badge") == 0)
            #expect(try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "apple"]) == 1)
            #expect(try await shop.ask("/shop/catalog", "Catalog.Badge") == 1)
            #expect(try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "tea", "quantity": 3]) == 4)
            #expect(try await shop.ask("/shop/catalog", "Catalog.Badge") == 4)
            // Not by way of the catalogue: the cart has it, the badge hasn't seen it.
            #expect(try await shop.ask("/shop", "Cart.Add", ["sku": "apple"]) == 5)
            #expect(try await shop.ask("/shop/catalog", "Catalog.Badge") == 4)

            let contents = try await shop.ask("/shop/cart", "Cart.Contents")
            #expect(contents["count"] == 5)
            #expect(contents["total"] == .integer(2 * 349 + 3 * 780))
            #expect(
                contents["lines"] == [
                    ["sku": "apple", "title": "Apples, 1 kg", "price": 349, "quantity": 2],
                    ["sku": "tea", "title": "Darjeeling, 100 g", "price": 780, "quantity": 3],
                ]
            )
        }
    }

    @Test("A product that can't be added is refused with the reason, and the badge stays as it is")
    func refused() async throws {
        try await RunningShop.with { shop in
            let unknown = try await shop.refusal("/shop/catalog", "Cart.Add", ["sku": "unicorn"])
            #expect(unknown == "there is no product 'unicorn': ask Catalog.Products for what there is")
            for quantity: JSONValue in [0, -1, 1_001, .integer(.max)] {
                let refusal = try await shop.refusal("/shop/catalog", "Cart.Add", ["sku": "apple", "quantity": quantity])
                #expect(refusal.hasSuffix("can't be added: give a quantity from 1 to 1000"))
            }
            #expect(try await shop.ask("/shop/catalog", "Catalog.Badge") == 0)
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 0)
        }
    }

    @Test("The catalogue lists its products by title, and finds one by its sku")
    func products() async throws {
        try await RunningShop.with { shop in
            let products = try #require(try await shop.ask("/shop/catalog", "Catalog.Products").arrayValue)
            #expect(products.map { $0["sku"]?.stringValue } == ["cheese", "apple", "coffee", "tea", "bread", "milk"])
            let bread = try await shop.ask("/shop/catalog", "Catalog.Find", ["sku": "bread"])
            #expect(bread == ["sku": "bread", "title": "Rye bread", "price": 420])
            _ = try await shop.refusal("/shop/catalog", "Catalog.Find", ["sku": "unicorn"])
        }
    }

    @Test("A hundred additions at once are all in the cart, and the badge agrees")
    func concurrent() async throws {
        try await RunningShop.with { shop in
            let counts = try await withThrowingTaskGroup(of: JSONValue.self) { group in
                for _ in 0..<100 { group.addTask { try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "milk"]) } }
                return try await group.reduce(into: Set<JSONValue>()) { $0.insert($1) }
            }
            #expect(counts == Set((1...100).map { .integer($0) }))
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["count"] == 100)
        }
    }

    @Test("A cleared cart is empty")
    func clear() async throws {
        try await RunningShop.with { shop in
            try await shop.ask("/shop/catalog", "Cart.Add", ["sku": "apple"])
            try await shop.ask("/shop/catalog", "Cart.Clear")
            #expect(try await shop.ask("/shop/cart", "Cart.Contents")["lines"] == [])
        }
    }
}
