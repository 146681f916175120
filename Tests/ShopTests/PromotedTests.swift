import Coordinators
import CoordinatorsSQLite
import TestSupport
import Testing
import WireProtocol

@testable import Shop

@Suite("Promoted products", .timeLimit(minutes: 1))
struct PromotedTests {
    @Test("The asker gets the known products at once, and the list page goes on to the present ones")
    func cachedThenFresh() async throws {
        try await RunningShop.with { shop in
            // Nothing is known yet, so the first answer is fresh.
            #expect(try await promoted(shop) == ["milk", "apple", "bread"])
            try await lists(shop, ["milk", "apple", "bread"])

            try Database(path: shop.database).execute("UPDATE product SET price = 1 WHERE sku = 'coffee'")
            #expect(try await promoted(shop) == ["milk", "apple", "bread"])
            try await lists(shop, ["coffee", "milk", "apple"])
            #expect(try await promoted(shop) == ["coffee", "milk", "apple"])
        }
    }

    @Test("The catalogue's answer reaches another section through the shop")
    func fromElsewhere() async throws {
        try await RunningShop.with { shop in
            let products = try await shop.ask("/shop/payment", "Catalog.Promoted")
            #expect(products.arrayValue?.first == ["sku": "milk", "title": "Whole milk, 1 l", "price": 139])
        }
    }

    private func promoted(_ shop: RunningShop) async throws -> [String] {
        let products = try await shop.ask("/shop/catalog", "Catalog.Promoted")
        return products.arrayValue?.compactMap { $0["sku"]?.stringValue } ?? []
    }

    /// Goes to the list, and waits until it shows these.
    private func lists(_ shop: RunningShop, _ skus: [JSONValue]) async throws {
        try await shop.runtime.open(Route("shop").then("catalog", CatalogPage.list()))
        try await shop.shows("/shop/catalog", [["list": ["promoted": .array(skus)]]])
    }
}
