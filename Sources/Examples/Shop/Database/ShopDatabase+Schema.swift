import GRDB

extension ShopDatabase {
    /// Brings the file up to date: makes the tables and fills the shelves, once.
    ///
    /// The shop does this before it opens its sections, so that no two processes do it at the same time.
    func prepare() throws {
        try migrate(by: Self.migrator)
    }

    /// Each change of the tables is a migration of its own; one that has been published is never edited.
    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("tables") { database in
            try createTables(in: database)
        }
        migrator.registerMigration("samples") { database in
            try Samples.insert(into: database)
        }
        return migrator
    }

    private static func createTables(in database: Database) throws {
        try database.create(table: "account") { table in
            table.primaryKey("name", .text)
            table.column("fullName", .text).notNull()
            table.column("passwordHash", .text).notNull()
        }
        // One row at most: the shop has one customer at a time, as the app on a telephone has.
        try database.create(table: "session") { table in
            table.primaryKey("id", .integer).check { $0 == 1 }
            table.column("account", .text).notNull().references("account")
        }
        try database.create(table: "product") { table in
            table.primaryKey("sku", .text)
            table.column("title", .text).notNull()
            table.column("price", .integer).notNull().check { $0 >= 0 }
        }
        // One row: the number of the cart that is being filled.
        try database.create(table: "cart") { table in
            table.primaryKey("id", .integer).check { $0 == 1 }
            table.column("number", .integer).notNull()
        }
        try database.create(table: "cartLine") { table in
            table.primaryKey("sku", .text).references("product")
            table.column("quantity", .integer).notNull().check { $0 > 0 }
        }
        try database.create(table: "order") { table in
            table.primaryKey("number", .integer)
            table.column("customer", .text).notNull().references("account")
            table.column("items", .jsonText).notNull()
            table.column("total", .integer).notNull()
            table.column("currency", .text).notNull()
        }
        try database.execute(sql: "INSERT INTO cart (id, number) VALUES (1, 1)")
    }
}
