import CSQLite
import ConcurrencySupport
public import Coordinators
import DequeModule
import Glibc

extension FlowStore {
    /// Keeps durable flows in a file of SQLite.
    ///
    /// The file is created if it doesn't exist, for this user alone, and opened when the first flow needs it, or the coordinator that provides the store
    /// is ready. It's open in one process at a time. What a call has returned from is on disk: the log is written ahead and synced at each commit, and
    /// changes that arrive during a sync leave together with the next.
    ///
    /// - Parameter path: The file's path. It lies on a disk of this machine: the locks of network file systems can't be trusted.
    public static func sqlite(at path: String) -> FlowStore { SQLiteFlowStorage.stores.store(at: path) }
}

/// The stores of this process by their paths: a coordinator that is restarted gets the store that its former life has had.
private final class SQLiteStores: Sendable {
    private let stores = Lock<[String: FlowStore.Reference]>([:])

    func store(at path: String) -> FlowStore {
        let path = Self.realPath(path)
        return stores.withLock { stores in
            stores = stores.filter { $0.value.store != nil }
            if let store = stores[path]?.store { return store }
            let store = FlowStore(SQLiteFlowStorage(path))
            stores[path] = FlowStore.Reference(store)
            return store
        }
    }

    /// Returns the path by which a file is known, whatever links lead to it; the path itself if there is no such directory.
    private static func realPath(_ path: String) -> String {
        if let file = realpath(path, nil) {
            defer { free(file) }
            return String(cString: file)
        }
        let slash = path.lastIndex(of: "/")
        let (directory, name) = slash.map { (String(path[...$0]), path[path.index(after: $0)...]) } ?? (".", path[...])
        guard let real = realpath(directory, nil) else { return path }
        defer { free(real) }
        let text = String(cString: real)
        return text == "/" ? "/\(name)" : "\(text)/\(name)"
    }
}

/// A store in a file of SQLite, which a thread of its own writes and reads.
final class SQLiteFlowStorage: FlowStorage {
    fileprivate static let stores = SQLiteStores()

    private enum Job: Sendable {
        /// Something that changes a row, in a group with others.
        case commit(Commit, Answer<Void>)
        /// Something that changes no row: it comes after the changes of its group.
        case read(@Sendable (Connection?) -> Void)
        /// An opening or a closing, after all that was asked before it.
        case turn(@Sendable (inout Connection?) -> Void)
    }

    // Unsafe: each job is carried out once, and answers once.
    private typealias Answer<Value> = UnsafeContinuation<Value, any Error>

    private struct State {
        var jobs: Deque<Job> = []
        var isRunning = false
        /// Whether the thread waits for a job, or is about to.
        var isWaiting = false

        /// Removes and returns what is carried out together: a turn, or changes and reads up to the next one.
        mutating func takeGroup() -> Group {
            var group = Group()
            while group.count < groupLimit, let job = jobs.popFirst() {
                switch job {
                case .commit(let commit, let answer):
                    group.commits.append(commit)
                    group.answers.append(answer)
                case .read(let body): group.reads.append(body)
                case .turn(let body):
                    if group.count == 0 { group.turn = body } else { jobs.prepend(job) }
                    return group
                }
            }
            return group
        }
    }

    /// Jobs that are carried out together.
    private struct Group {
        var commits: [Commit] = []
        var answers: [Answer<Void>] = []
        var reads: [@Sendable (Connection?) -> Void] = []
        var turn: (@Sendable (inout Connection?) -> Void)?

        var count: Int { commits.count + reads.count }
        var isEmpty: Bool { count == 0 && turn == nil }
    }

    /// The number of changes that are committed together at most.
    private static let groupLimit = 64

    private let path: String
    private let patience: Duration
    private let state = Lock(State())
    private let signal = Semaphore()

    /// - Parameter patience: The time for which an opening waits for a process that is about to end.
    init(_ path: String, patience: Duration = .seconds(5)) { (self.path, self.patience) = (path, patience) }

    // MARK: Calls

    var isLocal: Bool { true }

    func open() async throws -> FlowOpening {
        let (path, patience) = (path, patience)
        return try await withUnsafeThrowingContinuation { (answer: Answer<FlowOpening>) in
            add(
                .turn { connection in
                    answer.resume(
                        with: Result {
                            if connection == nil { connection = try Connection.opened(at: path, within: patience) }
                            return try connection!.begin()
                        }
                    )
                }
            )
        }
    }

    func note(_ note: [UInt8]?) async throws { try await read { connection in try connection.change { try connection.note(note) } } }

    func row(of key: String) async throws -> FlowRow? {
        try await read { try $0.rows("SELECT \(columns: ()) FROM flow WHERE key = \(key)").first }
    }

    func commit(_ row: FlowRow, _ writes: [any Sendable], keepsPlace: Bool) async throws {
        try await withUnsafeThrowingContinuation { add(.commit(Commit(row: row, writes: writes, keepsPlace: keepsPlace), $0)) }
    }

    func forget(before time: WallTime) async throws {
        try await read { connection in
            try connection.change {
                try connection.database.execute(
                    "DELETE FROM flow WHERE status IN ('finished', 'unwound') AND due IS NULL AND changed < \(time as WallTime?)"
                )
            }
        }
    }

    func due(by time: WallTime) async throws -> [String] {
        try await read { try $0.database.rows("SELECT key FROM flow WHERE due <= \(time as WallTime?) ORDER BY due, key") { $0.text(0) } }
    }

    func nextDue(after time: WallTime) async throws -> WallTime? {
        try await read { connection in
            try connection.database.rows("SELECT due FROM flow WHERE due > \(time as WallTime?) ORDER BY due LIMIT 1") { row in
                WallTime(nanoseconds: row.integer(0))
            }.first
        }
    }

    func rows(_ query: FlowQuery) async throws -> [FlowRow] {
        // All that is below a path sorts between its slash and the character after that.
        let (prefix, first, end) = (query.prefix, query.prefix.map { "\($0)/" }, query.prefix.map { "\($0)0" })
        // A text of its own for each selection, so that each uses its index.
        let selection: SQL =
            switch query.selection {
            case nil: "1"
            case .parked: "status NOT IN ('finished', 'unwound') AND status = 'parked'"
            case .due: "due <= \(query.time as WallTime?)"
            case .open: "status NOT IN ('finished', 'unwound')"
            case .finished: "status IN ('finished', 'unwound')"
            }
        return try await read { connection in
            try connection.rows(
                """
                SELECT \(columns: ()) FROM flow WHERE key > \(query.after) AND \(part: selection)
                AND (\(prefix) IS NULL OR key = \(prefix) OR (key > \(first) AND key < \(end))) ORDER BY key LIMIT \(query.limit)
                """
            )
        }
    }

    func summary(at time: WallTime) async throws -> FlowSummary {
        try await read { connection in
            var summary = FlowSummary()
            let counts = try connection.database.rows(
                "SELECT status, count(*) FROM flow WHERE status NOT IN ('finished', 'unwound') GROUP BY status"
            ) { (FlowStore.Description.Status(rawValue: $0.text(0)) ?? .open, Int(clamping: $0.integer(1))) }
            for (status, count) in counts { summary.counts[status, default: 0] += count }
            let due = try connection.database.rows("SELECT count(*), min(max(due, changed)) FROM flow WHERE due <= \(time as WallTime?)") {
                (Int(clamping: $0.integer(0)), $0.isNull(1) ? nil : WallTime(nanoseconds: $0.integer(1)))
            }
            if let (count, oldest) = due.first { (summary.due, summary.oldestDue) = (count, oldest) }
            return summary
        }
    }

    func close() -> OneShot<Void> {
        let end = OneShot<Void>()
        add(
            .turn { connection in
                // The next opening finds that nothing was under way.
                if let connection { try? connection.change { try connection.noteOpen(false) } }
                connection = nil
                end.settle()
            }
        )
        return end
    }

    /// Copies the store to another file, as it is at one moment, while it's used.
    ///
    /// The copy is complete when the call returns, and isn't there when it throws. Its first opening has an origin of its own, as each has.
    func backUp(to copy: String) async throws {
        try await read { connection in
            // For this user alone, as the store itself is.
            let file = Glibc.open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else {
                throw CoordinatorError(.storeCorrupt, "the copy \(copy) of the store can't be made: \(String(cString: strerror(errno)))")
            }
            Glibc.close(file)
            do throws(SQLiteError) {
                try connection.database.execute("VACUUM INTO \(copy)")
                // Nothing has ended while the copy was open.
                try Database(path: copy).execute("UPDATE store SET is_open = 0")
            } catch {
                for suffix in ["", "-journal", "-wal", "-shm"] { unlink(copy + suffix) }
                throw Connection.error(error, "the copy \(copy) of the store can't be made")
            }
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (Connection) throws -> Value) async throws -> Value {
        let path = path
        return try await withUnsafeThrowingContinuation { (answer: Answer<Value>) in
            add(
                .read { connection in
                    answer.resume(
                        with: Result {
                            guard let connection else { throw CoordinatorError(.stopped, "the store \(path) is closed") }
                            do {
                                return try body(connection)
                            } catch let error as SQLiteError {
                                throw Connection.error(error, "the store \(path) can't be read")
                            }
                        }
                    )
                }
            )
        }
    }

    // MARK: The thread

    /// Adds a job, and sees to it that a thread carries it out.
    private func add(_ job: Job) {
        let (mustStart, mustWake) = state.withLock { state -> (Bool, Bool) in
            state.jobs.append(job)
            defer { (state.isRunning, state.isWaiting) = (true, false) }
            return (!state.isRunning, state.isWaiting)
        }
        if mustWake { signal.post() }
        if mustStart { startThread() }
    }

    private func startThread() {
        if DetachedThread.run({ self.run() }) { return }
        // None is to be had at the moment: the jobs wait for one.
        _ = Timers.shared.schedule(at: .now + .milliseconds(100)) { self.startThread() }
    }

    /// Carries out jobs until the store is closed.
    private func run() {
        var connection: Connection?
        while true {
            let isOpen = connection != nil
            let group = state.withLock { state in
                let group = state.takeGroup()
                if group.isEmpty { (state.isRunning, state.isWaiting) = (isOpen, isOpen) }
                return group
            }
            if !group.isEmpty {
                carryOut(group, &connection)
            } else if isOpen {
                signal.wait()
            } else {
                return
            }
        }
    }

    private func carryOut(_ group: Group, _ connection: inout Connection?) {
        group.turn?(&connection)
        if let connection {
            let results = group.commits.isEmpty ? [] : connection.commit(group.commits)
            for (answer, result) in zip(group.answers, results) { answer.resume(with: result) }
        } else {
            let error = CoordinatorError(.stopped, "the store \(path) is closed")
            for answer in group.answers { answer.resume(throwing: error) }
        }
        for body in group.reads { body(connection) }
    }
}

// MARK: - The file

/// A row that is to be written, with what the change has the database do.
struct Commit: Sendable {
    let row: FlowRow
    let writes: [any Sendable]
    let keepsPlace: Bool
}

/// The open file of a store.
///
/// Only the thread of the store uses it.
final class Connection {
    private let path: String
    let database: Database

    /// The number that SQLite keeps for the program in a file's header; "flow".
    private static let application: Int64 = 0x66_6C_6F_77
    private static let form = Int64(FlowRow.form)
    /// SQLITE_IOERR_FSYNC.
    private static let failedSync = SQLITE_IOERR | 4 << 8
    /// The pages of the log after which it's written back to the file between commits; 16 MiB.
    private static let logPages: Int64 = 4_096

    private init(_ path: String) throws {
        self.path = path
        // A new file is for this user alone. One that is there isn't opened here: to close it would give up all locks of this process.
        let file = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 {
            Glibc.close(file)
        } else if errno != EEXIST {
            throw CoordinatorError(.storeCorrupt, "the store \(path) can't be made: \(String(cString: strerror(errno)))")
        }
        try Self.refuseNetwork(path)
        do throws(SQLiteError) { database = try Database(path: path) } catch {
            throw Self.error(error, "the store \(path) can't be opened")
        }
    }

    /// The numbers of file systems whose locks other machines don't see, or see too late; see statfs(2).
    private static let networks: [UInt32: String] = [0x6969: "NFS", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x517B: "SMB"]

    private static func refuseNetwork(_ path: String) throws(CoordinatorError) {
        guard let name = networks[coordinator_sqlite_file_system(path)] else { return }
        throw CoordinatorError(.unsupported, "the store \(path) lies on \(name), whose locks can't be trusted: use a disk of this machine")
    }

    /// Opens a file, and waits for a process that has it and is about to end.
    static func opened(at path: String, within patience: Duration) throws -> Connection {
        let end = ContinuousClock.now + patience
        while true {
            do {
                let connection = try Connection(path)
                try connection.prepare()
                return connection
            } catch let error as SQLiteError {
                // A later opening would read what the kernel still has, and go on from it.
                if error.code == failedSync { endProcess(error, path) }
                guard error.kind == SQLITE_BUSY || error.kind == SQLITE_LOCKED, ContinuousClock.now < end else {
                    throw Self.error(error, "the store \(path) can't be opened")
                }
                usleep(20_000)
            }
        }
    }

    private func prepare() throws {
        // Who waits for the store is asked again by `opened`.
        try database.execute("PRAGMA busy_timeout = 0")
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        _ = try database.rows("PRAGMA journal_mode = WAL") { $0.text(0) }
        try database.execute("PRAGMA synchronous = FULL")
        try database.control("PRAGMA wal_autocheckpoint = \(Self.logPages)")
        try database.control("BEGIN EXCLUSIVE")
        do {
            let application = try database.rows("PRAGMA application_id") { $0.integer(0) }.first ?? 0
            let form = try database.rows("PRAGMA user_version") { $0.integer(0) }.first ?? 0
            let tables = try database.rows("SELECT count(*) FROM sqlite_schema") { $0.integer(0) }.first ?? 0
            // A file with tables of the user's own, and none of ours, gets ours too.
            guard application == Self.application || application == 0, form <= Self.form else {
                throw CoordinatorError(
                    .storeCorrupt,
                    application == Self.application
                        ? "the store \(path) has form \(form), and this build knows \(Self.form): use a build that knows it"
                        : "\(path) is another program's file, and no store of flows (of \(tables) tables)"
                )
            }
            try database.execute("CREATE TABLE IF NOT EXISTS store(id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER, is_open INTEGER)")
            try database.execute("INSERT OR IGNORE INTO store VALUES (1, 0, 0)")
            try database.execute(
                """
                CREATE TABLE IF NOT EXISTS flow(
                    key TEXT PRIMARY KEY, seq INTEGER NOT NULL, status TEXT NOT NULL, due INTEGER, changed INTEGER NOT NULL, record BLOB NOT NULL
                ) WITHOUT ROWID
                """
            )
            try database.execute("CREATE TABLE IF NOT EXISTS flow_trial(id INTEGER PRIMARY KEY CHECK (id = 1), note BLOB)")
            try database.execute("CREATE INDEX IF NOT EXISTS flow_due ON flow(due) WHERE due IS NOT NULL")
            try database.execute("CREATE INDEX IF NOT EXISTS flow_open ON flow(status) WHERE status NOT IN ('finished', 'unwound')")
            try database.control("PRAGMA application_id = \(Self.application)")
            try database.control("PRAGMA user_version = \(Self.form)")
            try database.control("COMMIT")
        } catch {
            try? database.control("ROLLBACK")
            throw error
        }
        database.guardStore()
    }

    /// Notes that the store is open, and returns what the last process has left.
    func begin() throws -> FlowOpening {
        do {
            let wasOpen = try database.rows("SELECT is_open FROM store") { $0.integer(0) != 0 }.first ?? false
            let note = try database.rows("SELECT note FROM flow_trial") { $0.bytes(0) }.first
            // What was noted before a close says nothing of a later end.
            try change {
                if !wasOpen { try self.note(nil) }
                try noteOpen(true)
            }
            return FlowOpening(isAfterEnd: wasOpen, note: wasOpen ? note : nil)
        } catch let error as SQLiteError {
            throw Self.error(error, "the store \(path) can't be opened")
        }
    }

    func note(_ note: [UInt8]?) throws(SQLiteError) {
        if let note {
            try database.execute("INSERT OR REPLACE INTO flow_trial VALUES (1, \(note))")
        } else {
            try database.execute("DELETE FROM flow_trial")
        }
    }

    func noteOpen(_ isOpen: Bool) throws(SQLiteError) {
        try database.execute("UPDATE store SET is_open = \(isOpen ? 1 : 0), epoch = epoch + \(isOpen ? 1 : 0)")
    }

    func rows(_ sql: SQL) throws(SQLiteError) -> [FlowRow] {
        try database.rows(sql) { row in
            FlowRow(
                key: row.text(0),
                sequence: UInt64(bitPattern: row.integer(1)),
                // What a later build has written is open: it's read, and refused, by its record.
                status: FlowStore.Description.Status(rawValue: row.text(2)) ?? .open,
                due: row.isNull(3) ? nil : WallTime(nanoseconds: row.integer(3)),
                changed: WallTime(nanoseconds: row.integer(4)),
                record: row.bytes(5)
            )
        }
    }

    // MARK: Commits

    /// Commits changes together, each of which is made as a whole or not at all.
    func commit(_ commits: [Commit]) -> [Result<Void, any Error>] {
        do {
            try database.control("BEGIN IMMEDIATE")
            let results = try commits.map { try attempt($0) }
            try database.control("COMMIT")
            return results
        } catch {
            // First of all: after a sync that has failed, none of them is tried again.
            let failure = failed(error)
            // A statement of one of them has ended the transaction of all, or there is no room.
            if database.isInTransaction { try? database.control("ROLLBACK") }
            guard commits.count > 1 else { return [.failure(failure)] }
            return commits.flatMap { commit([$0]) }
        }
    }

    /// Makes a change, or nothing of it.
    ///
    /// - Throws: An error that is one of the whole transaction.
    private func attempt(_ commit: Commit) throws -> Result<Void, any Error> {
        // What is one statement is made as a whole or not at all.
        let isOne = commit.writes.isEmpty
        if !isOne { try database.control("SAVEPOINT change") }
        do {
            for write in commit.writes {
                guard let write = write as? DatabaseWrite else {
                    throw CoordinatorError(.unsupported, "the store \(path) doesn't know how to do what a change wants of it")
                }
                try database.lendForCommit { try write.body($0) }
                guard database.isInTransaction else { throw LostTransaction() }
            }
            try put(commit.row, keepsPlace: commit.keepsPlace)
            if !isOne { try database.control("RELEASE change") }
            return .success(())
        } catch {
            guard database.isInTransaction else { throw error }
            if let error = error as? SQLiteError, isOne || [SQLITE_FULL, SQLITE_IOERR, SQLITE_CORRUPT].contains(error.kind) { throw error }
            if !isOne {
                try database.control("ROLLBACK TO change")
                try database.control("RELEASE change")
            }
            return .failure(error)
        }
    }

    /// A statement of a user has ended the transaction of the whole group.
    private struct LostTransaction: Error, CustomStringConvertible {
        var description: String { "a statement of a change has ended the store's transaction; nothing of the change was made" }
    }

    private func put(_ row: FlowRow, keepsPlace: Bool) throws {
        let (key, sequence) = (row.key, Int64(bitPattern: row.sequence))
        if keepsPlace {
            // SQLite writes an index anew for each column that a statement sets, whatever its value.
            try database.execute(
                """
                UPDATE flow SET seq = \(sequence), changed = \(row.changed as WallTime?), record = \(row.record)
                WHERE key = \(key) AND seq = \(sequence - 1)
                """
            )
        } else if row.sequence == 1 {
            try database.execute(
                """
                INSERT INTO flow VALUES (\(key), 1, \(row.status.rawValue), \(row.due), \(row.changed as WallTime?), \(row.record))
                ON CONFLICT DO NOTHING
                """
            )
        } else {
            try database.execute(
                """
                UPDATE flow SET seq = \(sequence), status = \(row.status.rawValue), due = \(row.due), changed = \(row.changed as WallTime?),
                record = \(row.record) WHERE key = \(key) AND seq = \(sequence - 1)
                """
            )
        }
        guard sqlite3_changes(database.handle) == 1 else { throw CoordinatorError.flowIsElsewhere(key) }
    }

    /// Changes something outside of the commits of flows.
    func change(_ body: () throws -> Void) throws {
        do { try body() } catch { throw failed(error) }
    }

    /// Returns the error of a commit that wasn't made; doesn't return when what is on disk isn't known any more.
    private func failed(_ error: any Error) -> any Error {
        guard let error = error as? SQLiteError else { return error }
        if error.kind == SQLITE_IOERR { Self.endProcess(error, path) }
        return Self.error(error, "the store \(path) can't be changed")
    }

    /// Ends the process after a sync that has failed.
    ///
    /// What the kernel had is lost then, and a later one says that all is well: only a new process, which reads from disk, knows what is there.
    /// https://www.usenix.org/conference/atc20/presentation/rebello
    private static func endProcess(_ error: SQLiteError, _ path: String) -> Never {
        let text = "the store \(path) can't be written to disk, and this process ends, because nobody knows what is there: \(error)\n"
        _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
        _exit(75)
    }

    static func error(_ error: SQLiteError, _ what: String) -> CoordinatorError {
        switch error.kind {
        case SQLITE_BUSY, SQLITE_LOCKED: CoordinatorError(.storeInUse, "\(what): another process has it open")
        case SQLITE_FULL: CoordinatorError(.storeFull, "\(what): the disk is full; nothing has changed")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            CoordinatorError(.storeCorrupt, "\(what): \(error). Nothing is repaired or made anew; restore a copy, or look with `sqlite3`")
        default: CoordinatorError(.storeCorrupt, "\(what): \(error)")
        }
    }
}

extension SQL.StringInterpolation {
    /// Adds the columns of a flow's row.
    fileprivate mutating func appendInterpolation(columns: Void) { appendLiteral("key, seq, status, due, changed, record") }
}
