import GRDB

extension Product: FetchableRecord, PersistableRecord {}

extension ShopDatabase {
    /// Returns all products, by title.
    func products() async throws -> [Product] {
        try await read { try Product.order(Column("title")).fetchAll($0) }
    }

    /// Returns the products that the shop promotes today: its three cheapest.
    func promotedProducts() async throws -> [Product] {
        try await read { try Product.order(Column("price")).limit(3).fetchAll($0) }
    }

    /// Returns one product.
    ///
    /// - Throws: `ShopError.noSuchProduct`.
    func product(sku: String) async throws -> Product {
        try await read { database in
            guard let product = try Product.fetchOne(database, key: sku) else { throw ShopError.noSuchProduct(sku: sku) }
            return product
        }
    }
}
