import CoordinatorsSQLite

extension ShopDatabase {
    /// Returns all products, by title.
    func products() throws -> [Product] {
        try products("SELECT sku, title, price FROM product ORDER BY title")
    }

    /// Returns the products that the shop promotes today: its three cheapest.
    func promotedProducts() throws -> [Product] {
        try products("SELECT sku, title, price FROM product ORDER BY price LIMIT 3")
    }

    /// Returns one product.
    ///
    /// - Throws: `ShopError.noSuchProduct`.
    func product(sku: String) throws -> Product {
        guard let product = try products("SELECT sku, title, price FROM product WHERE sku = \(sku)").first else {
            throw ShopError.noSuchProduct(sku: sku)
        }
        return product
    }

    private func products(_ sql: SQL) throws -> [Product] {
        try connection.rows(sql) { row in Product(sku: row.text(0), title: row.text(1), price: Int(row.integer(2))) }
    }
}
