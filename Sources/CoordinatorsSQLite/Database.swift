import CSQLite
public import Coordinators
import Glibc

/// A database of SQLite: that in which a store keeps its flows, within one commit of it, or a file of one's own.
///
///     return .commit { flow in
///         flow.write { database in try database.execute("INSERT INTO charges VALUES (\(number), \(cents))") }
///         flow.show(.ship)
///     }
///
/// A call waits for the disk, and for other processes that have the file open. It isn't `Sendable`: the actor that opens a file has it for itself.
public final class Database {
    /// What those who have the database of a store at the moment may do.
    private enum Use: Hashable {
        /// The store's own: all.
        case own
        /// A user's function within a commit: anything but to end the transaction and to change the store's tables.
        case write
        /// A user's function between commits: nothing that changes anything.
        case read
    }

    private struct Key: Hashable {
        let text: String
        /// SQLite checks a statement when it's prepared.
        let use: Use

        static func == (first: Key, second: Key) -> Bool {
            let (count, other) = (first.text.utf8.count, second.text.utf8.count)
            // All at once: `elementsEqual` goes from one byte to the next.
            return first.use == second.use && count == other
                && first.text.withCString { first in second.text.withCString { memcmp(first, $0, count) } } == 0
        }

        /// Few statements are equally long, and to hash a text takes longer than to compare it with one.
        func hash(into hasher: inout Hasher) {
            hasher.combine(text.utf8.count)
            hasher.combine(use)
        }
    }

    let handle: OpaquePointer
    /// The statements that are prepared already and aren't run.
    private var statements: [Key: OpaquePointer] = [:]
    private var use = Use.own

    /// The number of statements that stay prepared.
    private static let statementsLimit = 64

    /// Opens a file, which is created if it doesn't exist.
    ///
    /// A statement waits for five seconds for another process that writes, unless `PRAGMA busy_timeout` says something else. A store's file is its store's alone: see ``Coordinators/FlowStore/read(_:)``.
    ///
    /// - Throws: An ``SQLiteError``.
    public init(path: String) throws(SQLiteError) {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)), text: "open \(path)")
            sqlite3_close_v2(handle)
            throw error
        }
        sqlite3_extended_result_codes(handle, 1)
        // Another process that writes is waited for.
        sqlite3_busy_timeout(handle, 5_000)
        self.handle = handle
    }

    // MARK: For the store

    /// Whether a transaction is under way, which a statement may have ended.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Runs a statement of the store's own transactions.
    func control(_ text: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, text, nil, nil, nil)
        guard code != SQLITE_OK else { return }
        throw SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)), text: text)
    }

    /// Lends the database of a store to a user's function within a commit.
    func lendForCommit<Value>(_ body: (Database) throws -> Value) rethrows -> Value { try lend(.write, body) }

    /// Lends the database of a store to a user's function between commits.
    func lendForReading<Value>(_ body: (Database) throws -> Value) rethrows -> Value { try lend(.read, body) }

    private func lend<Value>(_ use: Use, _ body: (Database) throws -> Value) rethrows -> Value {
        self.use = use
        defer { self.use = .own }
        return try body(self)
    }

    /// Has SQLite refuse what a user's function may not do.
    func guardStore() {
        sqlite3_set_authorizer(
            handle,
            { context, action, first, second, _, _ in
                // Unsafe: the database outlives its handle.
                guard let context else { return SQLITE_OK }
                switch Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().use {
                case .own: return SQLITE_OK
                case .write:
                    switch action {
                    case SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE: return SQLITE_OK
                    case SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH, SQLITE_PRAGMA: return SQLITE_DENY
                    default:
                        // Triggers, indexes and temporary tables of these names would change what the store's own statements do, too. The second name
                        // of an update is a column's.
                        let names = [first, action == SQLITE_UPDATE ? nil : second].map { $0.map { String(cString: $0).lowercased() } }
                        return names.contains { ["flow", "store", "flow_trial"].contains($0) } ? SQLITE_DENY : SQLITE_OK
                    }
                case .read:
                    switch action {
                    case SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE: return SQLITE_OK
                    // What SQLite itself does for a function that returns a table, and for a search of texts; a statement of that kind is refused.
                    case SQLITE_UPDATE: return first.map { String(cString: $0) } == "sqlite_master" ? SQLITE_OK : SQLITE_DENY
                    case SQLITE_PRAGMA: return first.map { String(cString: $0) } == "data_version" ? SQLITE_OK : SQLITE_DENY
                    default: return SQLITE_DENY
                    }
                }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// Runs one statement whose rows don't matter.
    ///
    /// - Throws: An ``SQLiteError``.
    public func execute(_ sql: SQL) throws(SQLiteError) { _ = try rows(sql) { _ in } }

    /// Runs one statement, and returns what is made of its rows.
    ///
    /// - Throws: An ``SQLiteError``.
    public func rows<Value>(_ sql: SQL, _ value: (SQLiteRow) -> Value) throws(SQLiteError) -> [Value] {
        let statement = try prepared(sql)
        defer { keep(statement, sql.text) }
        for (index, argument) in zip((1 as Int32)..., sql.arguments) {
            let code =
                switch argument {
                case .null: sqlite3_bind_null(statement, index)
                case .integer(let number): sqlite3_bind_int64(statement, index, number)
                case .real(let number): sqlite3_bind_double(statement, index, number)
                case .text(let text): text.withCString { sqlite3_bind_text(statement, index, $0, Int32(text.utf8.count), Self.copied) }
                case .bytes(let bytes): sqlite3_bind_blob(statement, index, bytes, Int32(bytes.count), Self.copied)
                }
            try check(code, sql)
        }
        var values: [Value] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: values.append(value(SQLiteRow(statement: statement)))
            case SQLITE_DONE: return values
            case let code: try check(code, sql)
            }
        }
    }

    /// Runs a function in one transaction: all of it or, when it throws or the process ends, nothing.
    ///
    /// The lock for writing is taken at once: a transaction that has read can't wait for it. Within a commit of a store, which is a transaction already,
    /// that is refused.
    ///
    /// - Throws: What the function throws; an ``SQLiteError``.
    public func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try execute("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// Returns a statement that is ready to run, which no other call has.
    private func prepared(_ sql: SQL) throws(SQLiteError) -> OpaquePointer {
        if let statement = statements.removeValue(forKey: Key(text: sql.text, use: use)) { return statement }
        var statement: OpaquePointer?
        var rest = ""
        let code = sql.text.withCString { text in
            var tail: UnsafePointer<CChar>?
            defer { rest = tail.map { String(cString: $0) } ?? "" }
            return sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, &tail)
        }
        try check(code, sql)
        guard let statement else { throw SQLiteError(code: SQLITE_MISUSE, message: "there is no statement", text: sql.text) }
        guard rest.allSatisfy({ $0.isWhitespace || $0 == ";" }) else {
            sqlite3_finalize(statement)
            throw SQLiteError(code: SQLITE_MISUSE, message: "there is more than one statement", text: sql.text)
        }
        return statement
    }

    /// Keeps a statement for the next call with its text, if there is room.
    private func keep(_ statement: OpaquePointer, _ text: String) {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
        let key = Key(text: text, use: use)
        guard statements[key] == nil, statements.count < Self.statementsLimit else {
            sqlite3_finalize(statement)
            return
        }
        statements[key] = statement
    }

    private func check(_ code: Int32, _ sql: SQL) throws(SQLiteError) {
        guard code != SQLITE_OK else { return }
        throw SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)), text: sql.text)
    }

    /// SQLITE_TRANSIENT: SQLite copies the text before the call returns.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}

@available(*, unavailable)
extension Database: Sendable {}

/// A statement.
///
/// What is interpolated is an argument of it, and never a part of its text.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    enum Argument: Sendable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case bytes([UInt8])
    }

    /// The text of a statement, with its arguments.
    public struct StringInterpolation: StringInterpolationProtocol {
        var text = ""
        var arguments: [Argument] = []

        /// Creates an empty text.
        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount)
            arguments.reserveCapacity(interpolationCount)
        }

        /// Adds to the text.
        public mutating func appendLiteral(_ literal: String) { text += literal }
        /// Adds a number; of one that 64 bits with a sign don't hold, the lowest 64.
        public mutating func appendInterpolation(_ number: some BinaryInteger) { append(.integer(Int64(truncatingIfNeeded: number))) }
        /// Adds a number with a fraction.
        public mutating func appendInterpolation(_ number: Double) { append(.real(number)) }
        /// Adds a text, or NULL.
        public mutating func appendInterpolation(_ text: String?) { append(text.map { .text($0) } ?? .null) }
        /// Adds bytes.
        public mutating func appendInterpolation(_ bytes: [UInt8]) { append(.bytes(bytes)) }
        /// Adds a moment, in nanoseconds since 1970, or NULL.
        public mutating func appendInterpolation(_ time: WallTime?) { append(time.map { .integer($0.nanoseconds) } ?? .null) }

        /// Adds a part of a statement, with its arguments.
        mutating func appendInterpolation(part: SQL) {
            text += part.text
            arguments += part.arguments
        }

        private mutating func append(_ argument: Argument) {
            text += "?"
            arguments.append(argument)
        }
    }

    let text: String
    let arguments: [Argument]

    /// Creates a statement without arguments.
    public init(stringLiteral text: String) { (self.text, arguments) = (text, []) }

    /// Creates a statement with arguments.
    public init(stringInterpolation: StringInterpolation) {
        (text, arguments) = (stringInterpolation.text, stringInterpolation.arguments)
    }
}

/// A row of a statement's result, while it's read.
public struct SQLiteRow {
    let statement: OpaquePointer

    /// Returns the number in a column, counted from 0; 0 for NULL.
    public func integer(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }

    /// Returns the number with a fraction in a column; 0 for NULL.
    public func real(_ column: Int) -> Double { sqlite3_column_double(statement, Int32(column)) }

    /// Returns the text in a column; empty for NULL.
    public func text(_ column: Int) -> String { sqlite3_column_text(statement, Int32(column)).map { String(cString: $0) } ?? "" }

    /// Returns the bytes in a column; none for NULL.
    public func bytes(_ column: Int) -> [UInt8] {
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        guard count > 0, let start = sqlite3_column_blob(statement, Int32(column)) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Returns whether a column is NULL.
    public func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }
}

@available(*, unavailable)
extension SQLiteRow: Sendable {}

/// What SQLite says of a statement that failed.
public struct SQLiteError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The extended result code, see https://sqlite.org/rescode.html.
    public let code: Int32
    /// SQLite's own words.
    public let message: String
    /// The text of the statement.
    public let text: String

    /// The message, the code and the statement.
    public var description: String { "\(message) (\(code)): \(text)" }

    /// The kind of the error, without its details.
    var kind: Int32 { code & 0xFF }
}

extension Flow {
    /// Has the store's database do something in the same commit: what the database says, and the flow, can't differ.
    ///
    /// The function runs when the change is made, on the thread of the store, after those of the change's earlier writes. When it throws, nothing of
    /// the change is made. It can't be used with a store that has no database.
    public mutating func write(_ body: @escaping @Sendable (Database) throws -> Void) { writes.append(DatabaseWrite(body: body)) }
}

extension FlowStore {
    /// Reads from the database in which the store keeps its flows, such as what ``Coordinators/Flow/write(_:)`` has put there.
    ///
    /// The function runs on the thread of the store, between two commits, which wait for it. A statement that would change anything is refused.
    ///
    /// - Throws: What the function throws, such as an ``SQLiteError``; `stopped` while the store isn't open; `unsupported` when it has no database.
    public func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await fileStorage.read { connection in Result { try connection.database.lendForReading(body) } }.get()
    }

    /// Copies the store to another file, as it is at one moment, while it's used.
    ///
    /// The copy is complete when the call returns, and isn't there when it throws. The file must not exist.
    ///
    /// - Throws: `storeCorrupt` or `storeFull` when the copy can't be made; `stopped` while the store isn't open; `unsupported` when it has no database.
    public func backUp(to path: String) async throws { try await fileStorage.backUp(to: path) }

    private var fileStorage: SQLiteFlowStorage {
        get throws(CoordinatorError) {
            guard let storage = storage as? SQLiteFlowStorage else {
                throw CoordinatorError(.unsupported, "the store isn't a database of SQLite")
            }
            return storage
        }
    }
}

/// What a change has the database do.
struct DatabaseWrite: Sendable {
    let body: @Sendable (Database) throws -> Void
}
