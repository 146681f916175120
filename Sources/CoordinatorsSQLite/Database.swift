import CSQLite
public import Coordinators

/// The database in which a store keeps its flows, within one commit of it.
///
///     return .commit { flow in
///         flow.write { database in try database.execute("INSERT INTO charges VALUES (\(number), \(cents))") }
///         flow.show(.ship)
///     }
public final class Database {
    let handle: OpaquePointer
    /// The statements that are prepared already and aren't run, by their texts.
    private var statements: [String: OpaquePointer] = [:]
    private var isLent = false

    /// The number of statements that stay prepared.
    private static let statementsLimit = 64

    /// Opens a file, which is created if it doesn't exist.
    package init(path: String) throws(SQLiteError) {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)), text: "open \(path)")
            sqlite3_close_v2(handle)
            throw error
        }
        sqlite3_extended_result_codes(handle, 1)
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

    /// Lends the database to a user's function, which can neither end the transaction nor change the store's tables.
    func lend(_ body: (Database) throws -> Void) rethrows {
        isLent = true
        defer { isLent = false }
        try body(self)
    }

    /// Has SQLite refuse what a user's function may not do.
    func guardStore() {
        sqlite3_set_authorizer(
            handle,
            { context, action, first, second, _, _ in
                // Unsafe: the database outlives its handle.
                guard let context, Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().isLent else { return SQLITE_OK }
                switch action {
                case SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH, SQLITE_PRAGMA: return SQLITE_DENY
                case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE, SQLITE_DROP_TABLE, SQLITE_ALTER_TABLE:
                    let name = (action == SQLITE_ALTER_TABLE ? second : first).map { String(cString: $0) } ?? ""
                    return ["flow", "store"].contains(name) ? SQLITE_DENY : SQLITE_OK
                default: return SQLITE_OK
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
                case .text(let text): sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), Self.copied)
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

    /// Returns a statement that is ready to run, which no other call has.
    private func prepared(_ sql: SQL) throws(SQLiteError) -> OpaquePointer {
        if let statement = statements.removeValue(forKey: sql.text) { return statement }
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
        guard statements[text] == nil, statements.count < Self.statementsLimit else {
            sqlite3_finalize(statement)
            return
        }
        statements[text] = statement
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
        public init(literalCapacity: Int, interpolationCount: Int) {}

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

/// What a change has the database do.
struct DatabaseWrite: Sendable {
    let body: @Sendable (Database) throws -> Void
}
