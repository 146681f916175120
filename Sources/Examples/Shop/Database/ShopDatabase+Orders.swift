import FoundationEssentials

extension ShopDatabase {
    /// Places the order and returns it; if there is one of its number already, returns that one.
    func place(_ order: Order) throws -> Order {
        try connection.transaction {
            if let placed = try self.order(number: order.number) { return placed }
            let items = String(decoding: try JSONEncoder().encode(order.items), as: UTF8.self)
            try connection.execute(
                """
                INSERT INTO "order" (number, customer, items, total, currency)
                VALUES (\(order.number), \(order.customer), \(items), \(order.total), \(order.currency))
                """
            )
            return order
        }
    }

    private func order(number: Int) throws -> Order? {
        let orders = try connection.rows("SELECT customer, items, total, currency FROM \"order\" WHERE number = \(number)") { row in
            (customer: row.text(0), items: row.text(1), total: row.integer(2), currency: row.text(3))
        }
        return try orders.first.map { order in
            let items = try JSONDecoder().decode([CartLine].self, from: Data(order.items.utf8))
            return Order(number: number, customer: order.customer, items: items, total: order.total, currency: order.currency)
        }
    }
}
