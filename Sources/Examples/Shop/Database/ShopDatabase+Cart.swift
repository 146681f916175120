import GRDB

extension CartLine: FetchableRecord {}

extension ShopDatabase {
    /// Returns the cart as it is now.
    func cart() async throws -> CartContents {
        try await read { database in
            let lines = try CartLine.fetchAll(
                database,
                sql: "SELECT sku, title, price, quantity FROM cartLine JOIN product USING (sku) ORDER BY title"
            )
            return CartContents(number: try cartNumber(database), lines: lines)
        }
    }

    /// Adds a product, and returns the number of items that are then in the cart.
    ///
    /// - Throws: `ShopError.noSuchProduct`.
    func addToCart(sku: String, quantity: Int) async throws -> Int {
        try await write { database in
            guard try Product.exists(database, key: sku) else { throw ShopError.noSuchProduct(sku: sku) }
            try database.execute(
                literal: """
                    INSERT INTO cartLine (sku, quantity) VALUES (\(sku), \(quantity))
                    ON CONFLICT (sku) DO UPDATE SET quantity = quantity + excluded.quantity
                    """
            )
            return try Int.fetchOne(database, sql: "SELECT SUM(quantity) FROM cartLine") ?? 0
        }
    }

    /// Empties the cart and goes on to the next one.
    func clearCart() async throws {
        try await write { database in
            try database.execute(sql: "DELETE FROM cartLine")
            try beginNextCart(database)
        }
    }

    /// Takes out what the order holds and goes on to the next cart, unless that has happened.
    func settleCart(_ order: Order) async throws {
        try await write { database in
            guard try cartNumber(database) == order.number else { return }
            for item in order.items {
                try database.execute(literal: "DELETE FROM cartLine WHERE sku = \(item.sku) AND quantity <= \(item.quantity)")
                try database.execute(literal: "UPDATE cartLine SET quantity = quantity - \(item.quantity) WHERE sku = \(item.sku)")
            }
            try beginNextCart(database)
        }
    }
}

private func cartNumber(_ database: Database) throws -> Int {
    try Int.fetchOne(database, sql: "SELECT number FROM cart") ?? 1
}

private func beginNextCart(_ database: Database) throws {
    try database.execute(sql: "UPDATE cart SET number = number + 1")
}
