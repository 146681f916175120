import GRDB

/// The shop's SQLite file, open.
///
/// Each process of the shop opens the file once; the statements of each section are in an extension of their own.
final class ShopDatabase: Sendable {
    private let queue: DatabaseQueue

    /// Opens the file; creates it if it doesn't exist.
    ///
    /// - Throws: SQLite's error.
    init(path: String) throws {
        queue = try DatabaseQueue(path: path, configuration: Self.configuration)
    }

    /// Reads in one transaction; the caller's actor is free meanwhile.
    func read<Value: Sendable>(_ body: @Sendable (Database) throws -> Value) async throws -> Value {
        try await queue.read(body)
    }

    /// Writes in one transaction: all of it or, if the body throws or the process dies, nothing.
    func write<Value: Sendable>(_ body: @Sendable (Database) throws -> Value) async throws -> Value {
        try await queue.write(body)
    }

    /// Brings the file up to date with migrations.
    func migrate(by migrator: DatabaseMigrator) throws {
        try migrator.migrate(queue)
    }

    private static var configuration: GRDB.Configuration {
        var configuration = GRDB.Configuration()
        // With a write-ahead log, readers of one process don't wait for the writer of another; writers wait for one another.
        // https://sqlite.org/wal.html
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(5)
        return configuration
    }
}
