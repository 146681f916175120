import GRDB

extension Order: FetchableRecord, PersistableRecord {}

extension ShopDatabase {
    /// Places the order and returns it; if there is one of its number already, returns that one.
    func place(_ order: Order) async throws -> Order {
        try await write { database in
            if let placed = try Order.fetchOne(database, key: order.number) { return placed }
            try order.insert(database)
            return order
        }
    }
}
