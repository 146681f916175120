import GRDB

/// A customer's row: never leaves the account section.
struct Credentials: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "account"

    let name: String
    let fullName: String
    let passwordHash: PasswordHash

    /// A customer's password, to be kept.
    init(_ user: User, _ passwordHash: PasswordHash) {
        name = user.name
        fullName = user.fullName
        self.passwordHash = passwordHash
    }

    /// What of the row may be shown.
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
