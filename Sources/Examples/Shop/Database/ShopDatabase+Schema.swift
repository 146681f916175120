import CoordinatorsSQLite

extension ShopDatabase {
    /// Brings the file up to date: makes the tables and fills the shelves, once.
    ///
    /// The shop does this before it opens its sections.
    func prepare() throws {
        try connection.transaction {
            let done = try connection.rows("PRAGMA user_version") { Int($0.integer(0)) }.first ?? 0
            guard done < Self.migrations.count else { return }
            for migration in Self.migrations[done...] { try migration(connection) }
            try connection.execute(SQL(stringLiteral: "PRAGMA user_version = \(Self.migrations.count)"))
        }
    }

    /// Each change of the tables is a migration of its own; one that has been published is never edited.
    private static var migrations: [(Database) throws -> Void] { [createTables, Samples.insert] }

    private static func createTables(in connection: Database) throws {
        // The session has one row at most: the shop has one customer at a time, as the app on a telephone has.
        // The cart has one: the number of the cart that is being filled.
        let statements: [SQL] = [
            "CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY NOT NULL, fullName TEXT NOT NULL, passwordHash TEXT NOT NULL)",
            "CREATE TABLE IF NOT EXISTS session (id INTEGER PRIMARY KEY CHECK (id = 1), account TEXT NOT NULL REFERENCES account)",
            "CREATE TABLE IF NOT EXISTS product (sku TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, price INTEGER NOT NULL CHECK (price >= 0))",
            "CREATE TABLE IF NOT EXISTS cart (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL)",
            """
            CREATE TABLE IF NOT EXISTS cartLine (
                sku TEXT PRIMARY KEY NOT NULL REFERENCES product, quantity INTEGER NOT NULL CHECK (quantity > 0)
            )
            """,
            """
            CREATE TABLE IF NOT EXISTS "order" (
                number INTEGER PRIMARY KEY, customer TEXT NOT NULL REFERENCES account, items TEXT NOT NULL,
                total INTEGER NOT NULL, currency TEXT NOT NULL
            )
            """,
            "INSERT OR IGNORE INTO cart (id, number) VALUES (1, 1)",
        ]
        for statement in statements { try connection.execute(statement) }
    }
}
