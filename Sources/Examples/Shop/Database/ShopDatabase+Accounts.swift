import CoordinatorsSQLite

/// A customer's row: never leaves the account section.
struct Credentials {
    let name: String
    let fullName: String
    let passwordHash: PasswordHash

    /// The public part of the row.
    var user: User { User(name: name, fullName: fullName) }
}

extension ShopDatabase {
    func credentials(of name: String) throws -> Credentials? {
        try accounts("SELECT name, fullName, passwordHash FROM account WHERE name = \(name)").first
    }

    func userOfSession() throws -> User? {
        try accounts("SELECT name, fullName, passwordHash FROM session JOIN account ON account.name = session.account").first?.user
    }

    func beginSession(of credentials: Credentials) throws {
        try connection.execute("INSERT OR REPLACE INTO session (id, account) VALUES (1, \(credentials.name))")
    }

    func endSession() throws {
        try connection.execute("DELETE FROM session")
    }

    private func accounts(_ sql: SQL) throws -> [Credentials] {
        try connection.rows(sql) { row in
            Credentials(name: row.text(0), fullName: row.text(1), passwordHash: PasswordHash(rawValue: row.text(2)))
        }
    }
}
