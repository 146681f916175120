import GRDB
import Synchronization

/// A handle on the shop's SQLite file.
///
/// To make one costs nothing; the file is opened when it is first needed. Each section has its own, in its own process. What they say to the database is in one extension for each section, and nowhere else.
final class ShopDatabase: Sendable {
    /// Where the file is.
    let path: String
    private let connection = Mutex<DatabaseQueue?>(nil)

    /// Creates a handle.
    init(path: String) { self.path = path }

    /// Opens the file, unless it is open.
    ///
    /// - Throws: what SQLite says against it.
    @discardableResult
    func open() throws -> DatabaseQueue {
        try connection.withLock { connection in
            if let connection { return connection }
            let opened = try DatabaseQueue(path: path, configuration: Self.configuration)
            connection = opened
            return opened
        }
    }

    /// Reads in one transaction; the caller's actor is free meanwhile.
    func read<Value: Sendable>(_ body: @Sendable (Database) throws -> Value) async throws -> Value {
        try await open().read(body)
    }

    /// Writes in one transaction: all of it or, if the body throws or the process dies, nothing.
    func write<Value: Sendable>(_ body: @Sendable (Database) throws -> Value) async throws -> Value {
        try await open().write(body)
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
