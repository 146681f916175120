import CSQLite

/// A connection to an SQLite file: the few calls of SQLite's interface for C that the shop needs.
///
/// It isn't `Sendable`: the actor that opens it has it for itself.
final class SQLiteConnection {
    private let handle: OpaquePointer

    /// Opens the file; creates it if it doesn't exist.
    init(path: String) throws(SQLiteError) {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        guard code == SQLITE_OK, let handle else {
            defer { sqlite3_close_v2(handle) }
            throw SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)), text: "open \(path)")
        }
        self.handle = handle
        // Another process that writes is waited for.
        sqlite3_busy_timeout(handle, 5_000)
        // With a write-ahead log, readers of one process don't wait for the writer of another; writers wait for one another.
        // https://sqlite.org/wal.html
        try execute("PRAGMA journal_mode = WAL")
        try execute("PRAGMA foreign_keys = ON")
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs one statement whose rows don't matter.
    func execute(_ sql: SQL) throws(SQLiteError) {
        _ = try rows(sql) { _ in }
    }

    /// Runs one statement, and returns what is made of its rows.
    func rows<Value>(_ sql: SQL, _ value: (SQLiteRow) -> Value) throws(SQLiteError) -> [Value] {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql.text, -1, &statement, nil), sql)
        defer { sqlite3_finalize(statement) }
        for (index, argument) in zip((1 as Int32)..., sql.arguments) {
            switch argument {
            case .integer(let number): try check(sqlite3_bind_int64(statement, index, number), sql)
            case .text(let text): try check(sqlite3_bind_text(statement, index, text, -1, Self.copied), sql)
            }
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

    /// Runs the body in one transaction: all of it or, if the body throws or the process dies, nothing.
    func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        // The lock for writing is taken at once: a transaction that has read can't wait for it.
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

    private func check(_ code: Int32, _ sql: SQL) throws(SQLiteError) {
        guard code != SQLITE_OK else { return }
        throw SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)), text: sql.text)
    }

    /// SQLITE_TRANSIENT: SQLite copies the text before the call returns.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}

/// A statement.
///
/// What is interpolated is an argument of it, and never a part of its text.
struct SQL: ExpressibleByStringInterpolation {
    fileprivate enum Argument {
        case integer(Int64)
        case text(String)
    }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var arguments: [Argument] = []

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ number: Int) { append(.integer(Int64(number))) }
        mutating func appendInterpolation(_ text: String) { append(.text(text)) }

        private mutating func append(_ argument: Argument) {
            text += "?"
            arguments.append(argument)
        }
    }

    fileprivate let text: String
    fileprivate let arguments: [Argument]

    init(stringLiteral text: String) {
        self.text = text
        arguments = []
    }

    init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        arguments = stringInterpolation.arguments
    }
}

/// A row of a statement's result: its columns by their numbers, counted from 0.
struct SQLiteRow {
    fileprivate let statement: OpaquePointer?

    func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(statement, column)) }
    func text(_ column: Int32) -> String { sqlite3_column_text(statement, column).map(String.init(cString:)) ?? "" }
}

/// What SQLite says when a statement fails.
struct SQLiteError: Error, CustomStringConvertible {
    /// One of https://sqlite.org/rescode.html.
    let code: Int32
    let message: String
    let text: String

    var description: String { "SQLite: \(message) (\(code)) in \(text)" }
}
