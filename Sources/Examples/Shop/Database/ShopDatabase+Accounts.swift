import GRDB

/// A customer's row: never leaves the account section.
struct Credentials: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "account"

    let name: String
    let fullName: String
    let passwordHash: PasswordHash

    /// Creates the row of a customer and her password's hash.
    init(_ user: User, _ passwordHash: PasswordHash) {
        name = user.name
        fullName = user.fullName
        self.passwordHash = passwordHash
    }

    /// The public part of the row.
    var user: User { User(name: name, fullName: fullName) }
}

extension ShopDatabase {
    func credentials(of name: String) async throws -> Credentials? {
        try await read { try Credentials.fetchOne($0, key: name) }
    }

    func userOfSession() async throws -> User? {
        try await read { database in
            try Credentials.fetchOne(database, sql: "SELECT account.* FROM session JOIN account ON account.name = session.account")?.user
        }
    }

    func beginSession(of credentials: Credentials) async throws {
        try await write { try $0.execute(literal: "INSERT OR REPLACE INTO session (id, account) VALUES (1, \(credentials.name))") }
    }

    func endSession() async throws {
        try await write { try $0.execute(sql: "DELETE FROM session") }
    }
}
