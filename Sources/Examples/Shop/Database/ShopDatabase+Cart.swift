import CoordinatorsSQLite

extension ShopDatabase {
    /// Returns the cart as it is now.
    func cart() throws -> CartContents {
        try connection.transaction {
            let lines = try connection.rows(
                "SELECT sku, title, price, quantity FROM cartLine JOIN product USING (sku) ORDER BY title"
            ) { row in CartLine(sku: row.text(0), title: row.text(1), price: Int(row.integer(2)), quantity: Int(row.integer(3))) }
            return CartContents(number: try cartNumber(), lines: lines)
        }
    }

    /// Adds a product, and returns the number of items that are then in the cart.
    ///
    /// - Throws: `ShopError.noSuchProduct`.
    func addToCart(sku: String, quantity: Int) throws -> Int {
        try connection.transaction {
            _ = try product(sku: sku)
            try connection.execute(
                """
                INSERT INTO cartLine (sku, quantity) VALUES (\(sku), \(quantity))
                ON CONFLICT (sku) DO UPDATE SET quantity = quantity + excluded.quantity
                """
            )
            return try connection.rows("SELECT SUM(quantity) FROM cartLine") { Int($0.integer(0)) }.first ?? 0
        }
    }

    /// Empties the cart and goes on to the next one.
    func clearCart() throws {
        try connection.transaction {
            try connection.execute("DELETE FROM cartLine")
            try beginNextCart()
        }
    }

    /// Gives the cart the next number, unless that has happened.
    func renumberCart(_ number: Int) throws {
        try connection.transaction { if try cartNumber() == number { try beginNextCart() } }
    }

    /// Takes out what the order holds and goes on to the next cart, unless that has happened.
    func settleCart(_ order: Order) throws {
        try connection.transaction {
            guard try cartNumber() == order.number else { return }
            for item in order.items {
                try connection.execute("DELETE FROM cartLine WHERE sku = \(item.sku) AND quantity <= \(item.quantity)")
                try connection.execute("UPDATE cartLine SET quantity = quantity - \(item.quantity) WHERE sku = \(item.sku)")
            }
            try beginNextCart()
        }
    }

    private func cartNumber() throws -> Int {
        try connection.rows("SELECT number FROM cart") { Int($0.integer(0)) }.first ?? 1
    }

    private func beginNextCart() throws {
        try connection.execute("UPDATE cart SET number = number + 1")
    }
}
