import ConcurrencySupport
import Coordinators
import CoordinatorsTesting
import Flows
import Glibc
import TestSupport
import Testing

@testable import CoordinatorsSQLite

/// The kinds of stores, on each of which the contract and the flows' tests run.
enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, sqlite

    var testDescription: String { rawValue }

    /// Makes a store in a directory.
    func store(in directory: String) -> FlowStore {
        switch self {
        case .memory: .inMemory()
        case .sqlite: .sqlite(at: "\(directory)/flows.sqlite")
        }
    }
}

/// What every store does.
@Suite("The contract of stores", .timeLimit(.minutes(1)))
struct FlowStoreContract {
    private func row(
        _ key: String,
        _ sequence: UInt64,
        due: Int64? = nil,
        _ status: FlowStore.Description.Status = .open,
        changed: Int64 = 0
    ) -> FlowRow {
        FlowRow(
            key: key,
            sequence: sequence,
            status: status,
            due: due.map { WallTime(nanoseconds: $0) },
            changed: WallTime(nanoseconds: changed),
            record: Array("\(key) \(sequence)".utf8)
        )
    }

    private func code(_ body: () async throws -> Void) async -> CoordinatorError.Code? {
        do { try await body() } catch { return (error as? CoordinatorError)?.code }
        return nil
    }

    @Test("A row is what was committed last; a commit that isn't the next one changes nothing", arguments: StoreKind.allCases)
    func sequence(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let storage = kind.store(in: directory.path).storage
            _ = try await storage.open()
            #expect(try await storage.row(of: "a") == nil)
            try await storage.commit(row("a", 1), [])
            try await storage.commit(row("a", 2, due: 7), [])
            try await storage.commit(row("a", 3, due: 7, changed: 9), [], keepsPlace: true)
            #expect(try await storage.row(of: "a") == row("a", 3, due: 7, changed: 9))
            for wrong: UInt64 in [1, 3, 5] {
                for keepsPlace in [false, wrong > 1] {
                    let code = await code { try await storage.commit(row("a", wrong), [], keepsPlace: keepsPlace) }
                    #expect(code == .peerLost, "\(wrong)")
                }
            }
            #expect(await code { try await storage.commit(row("b", 2), []) } == .peerLost)
            #expect(try await storage.row(of: "a") == row("a", 3, due: 7, changed: 9))
            await storage.close().value
        }
    }

    @Test("Flows are found by the time at which they have something to do", arguments: StoreKind.allCases)
    func due(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let storage = kind.store(in: directory.path).storage
            _ = try await storage.open()
            for (key, due) in [("c", 30), ("a", 10), ("d", Int64.min), ("b", 20)] as [(String, Int64)] {
                try await storage.commit(row(key, 1, due: due), [])
            }
            try await storage.commit(row("e", 1), [])
            #expect(try await storage.due(by: WallTime(nanoseconds: 20)) == ["d", "a", "b"])
            #expect(try await storage.nextDue(after: WallTime(nanoseconds: 20)) == WallTime(nanoseconds: 30))
            #expect(try await storage.nextDue(after: WallTime(nanoseconds: 30)) == nil)
            await storage.close().value
        }
    }

    @Test("Flows that are over are forgotten after their time, if they have nothing to send", arguments: StoreKind.allCases)
    func forgetting(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let storage = kind.store(in: directory.path).storage
            _ = try await storage.open()
            try await storage.commit(row("finished", 1, .finished, changed: 5), [])
            try await storage.commit(row("late", 1, .finished, changed: 15), [])
            try await storage.commit(row("open", 1, .open, changed: 5), [])
            try await storage.commit(row("sends", 1, due: 50, .unwound, changed: 5), [])
            try await storage.commit(row("unwound", 1, .unwound, changed: 5), [])
            try await storage.forget(before: WallTime(nanoseconds: 10))
            #expect(try await storage.rows(after: nil, limit: 10).map(\.key) == ["late", "open", "sends"])
            #expect(try await storage.rows(after: "late", limit: 1).map(\.key) == ["open"])
            await storage.close().value
        }
    }

    @Test("Flows are selected by what an operator asks for, by their place, and counted", arguments: StoreKind.allCases)
    func selections(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let storage = kind.store(in: directory.path).storage
            _ = try await storage.open()
            #expect(try await storage.summary(at: WallTime(nanoseconds: 50)) == FlowSummary())
            let rows: [FlowRow] = [
                row("a", 1, due: 10, .open, changed: 4), row("a/b", 1, .parked, changed: 5), row("a-b", 1, due: 90, .open),
                row("a/c", 1, due: .min, .unwinding, changed: 7), row("b", 1, .finished), row("b/a", 1, due: 20, .unwound),
            ]
            for row in rows { try await storage.commit(row, []) }
            func keys(_ selection: FlowStore.Selection?, below prefix: String? = nil, after: String? = nil, limit: Int = 9) async throws
                -> [String]
            {
                let time = WallTime(nanoseconds: 50)
                return try await storage.rows(FlowQuery(selection: selection, at: time, below: prefix, after: after, limit: limit)).map(
                    \.key
                )
            }
            #expect(try await keys(nil) == ["a", "a-b", "a/b", "a/c", "b", "b/a"])
            #expect(try await keys(nil, below: "a") == ["a", "a/b", "a/c"])
            #expect(try await keys(nil, below: "a", after: "a", limit: 1) == ["a/b"])
            #expect(try await keys(.open) == ["a", "a-b", "a/b", "a/c"])
            #expect(try await keys(.parked) == ["a/b"])
            #expect(try await keys(.parked, below: "b") == [])
            #expect(try await keys(.due) == ["a", "a/c", "b/a"])
            #expect(try await keys(.finished) == ["b", "b/a"])
            var summary = FlowSummary()
            summary.counts = [.open: 2, .parked: 1, .unwinding: 1]
            (summary.due, summary.oldestDue) = (3, WallTime(nanoseconds: 7))
            #expect(try await storage.summary(at: WallTime(nanoseconds: 50)) == summary)
            await storage.close().value
        }
    }

    @Test("Hundreds of changes at once are all made", arguments: StoreKind.allCases)
    func concurrent(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let storage = kind.store(in: directory.path).storage
            _ = try await storage.open()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for flow in 0..<200 {
                    group.addTask {
                        for sequence in 1...5 { try await storage.commit(row("\(flow)", UInt64(sequence)), []) }
                    }
                }
                try await group.waitForAll()
            }
            let rows = try await storage.rows(after: nil, limit: 1_000)
            #expect(rows.count == 200 && rows.allSatisfy { $0.sequence == 5 })
            await storage.close().value
        }
    }

    @Test("Each opening has an origin of its own, and rows survive it", arguments: StoreKind.allCases)
    func openings(kind: StoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let store = kind.store(in: directory.path)
            let first = try await store.storage.open()
            try await store.storage.commit(row("a", 1), [])
            await store.storage.close().value
            let second = try await store.storage.open()
            #expect(first.origin != second.origin && !second.isAfterEnd)
            #expect(try await store.storage.row(of: "a") == row("a", 1))
            await store.storage.close().value
        }
    }
}

@Suite("A store in a file", .timeLimit(.minutes(1)))
struct SQLiteStoreTests {
    private func row(_ key: String, _ sequence: UInt64) -> FlowRow {
        FlowRow(key: key, sequence: sequence, status: .open, due: nil, changed: WallTime(nanoseconds: 0), record: [])
    }

    private func error(_ body: () async throws -> Void) async -> CoordinatorError? {
        do { try await body() } catch { return error as? CoordinatorError }
        return nil
    }

    @Test("A file that another has open is refused, and opened when the other has closed it")
    func inUse() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory.path)/flows.sqlite"
            let (first, second) = (SQLiteFlowStorage(path), SQLiteFlowStorage(path, patience: .milliseconds(100)))
            _ = try await first.open()
            let error = await error { _ = try await second.open() }
            #expect(error?.code == .storeInUse && error?.message.contains(path) == true, "\(error.map { "\($0)" } ?? "none")")
            await first.close().value
            _ = try await second.open()
            await second.close().value
        }
    }

    @Test(
        "What isn't a store is refused, and left as it is",
        arguments: ["text", "another program's", "cut", "a directory", "no directory"]
    )
    func damaged(kind: String) async throws {
        try await withTemporaryDirectory { directory in
            var path = "\(directory.path)/flows.sqlite"
            switch kind {
            case "text": try Files.write(String(repeating: "no database\n", count: 400), to: path)
            case "another program's":
                let database = try Database(path: path)
                try database.execute("PRAGMA application_id = 7")
                try database.execute("CREATE TABLE mine(number)")
            case "cut":
                let storage = SQLiteFlowStorage(path)
                _ = try await storage.open()
                for flow in 0..<200 { try await storage.commit(row("\(flow)", 1), []) }
                await storage.close().value
                #expect(truncate(path, 5_000) == 0)
            case "a directory": #expect(mkdir(path, 0o700) == 0)
            default: path = "\(directory.path)/none/flows.sqlite"
            }
            let storage = SQLiteFlowStorage(path)
            let error = await error {
                _ = try await storage.open()
                _ = try await storage.rows(after: nil, limit: 1_000)
            }
            #expect(error?.code == .storeCorrupt && error?.message.contains(path) == true, "\(error.map { "\($0)" } ?? "none")")
            await storage.close().value
            if kind == "text" { #expect(Files.text(of: path)?.hasPrefix("no database") == true) }
        }
    }

    @Test("A row that has changed is written with what the change has the database do, or neither is")
    func writes() async throws {
        try await withTemporaryDirectory { directory in
            let storage = SQLiteFlowStorage("\(directory.path)/flows.sqlite")
            _ = try await storage.open()
            let write = { @Sendable (sql: SQL) in DatabaseWrite { try $0.execute(sql) } }
            try await storage.commit(row("a", 1), [write("CREATE TABLE charge(number INTEGER UNIQUE)")])
            try await withThrowingTaskGroup(of: Void.self) { group in
                // They leave together with others, of which some fail.
                for flow in 0..<40 {
                    group.addTask {
                        let number = flow % 2 == 0 ? flow : -1
                        _ = await self.error {
                            try await storage.commit(self.row("f\(flow)", 1), [write("INSERT INTO charge VALUES (\(number))")])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let charges = Lock<[Int64]>([])
            try await storage.commit(
                row("a", 2),
                [
                    DatabaseWrite { database in
                        let numbers = try database.rows("SELECT number FROM charge") { $0.integer(0) }
                        charges.withLock { $0 = numbers }
                    }
                ]
            )
            let flows = try await storage.rows(after: "f", limit: 100).map { Int64($0.key.dropFirst()) ?? 0 }
            // Of those that wanted the same number one has got it, and the rows say which.
            #expect(charges.withLock { $0.count } == 21 && flows.count == 21)
            #expect(Set(charges.withLock { $0 }.filter { $0 >= 0 }) == Set(flows.filter { $0 % 2 == 0 }))
            await storage.close().value
        }
    }

    @Test(
        "What a change may not have the database do, or what ends the transaction, is refused, and the changes beside it are made",
        arguments: [
            "ROLLBACK", "COMMIT", "BEGIN", "SAVEPOINT mine", "PRAGMA synchronous = OFF", "ATTACH ':memory:' AS other", "DELETE FROM flow",
            "UPDATE flow SET seq = 7", "DROP TABLE flow", "ALTER TABLE flow RENAME TO mine", "UPDATE store SET epoch = 7",
            "INSERT OR ROLLBACK INTO charge VALUES (1)", "INSERT INTO charge VALUES (8); INSERT INTO charge VALUES (9)", "nonsense",
            // In the store's own words, which it has prepared.
            "UPDATE store SET is_open = ?, epoch = epoch + ?",
            "CREATE TEMP TABLE flow(key)", "CREATE TEMP VIEW store AS SELECT 1",
            "CREATE TRIGGER mine AFTER INSERT ON flow BEGIN SELECT 1; END",
            "DROP INDEX flow_due", "CREATE UNIQUE INDEX mine ON Flow(status)", "DELETE FROM FLOW_TRIAL",
        ]
    )
    func harmfulWrites(text: String) async throws {
        try await withTemporaryDirectory { directory in
            let storage = SQLiteFlowStorage("\(directory.path)/flows.sqlite")
            _ = try await storage.open()
            let write = { @Sendable (sql: SQL) in DatabaseWrite { try $0.execute(sql) } }
            try await storage.commit(
                row("a", 1),
                [write("CREATE TABLE charge(number INTEGER UNIQUE)"), write("INSERT INTO charge VALUES (1)")]
            )
            let failures = await withTaskGroup(of: Bool.self) { group in
                for flow in 0..<30 {
                    group.addTask {
                        let own = write("INSERT INTO charge VALUES (\(100 + flow))")
                        let harm = flow % 10 == 5 ? [write(SQL(stringLiteral: text))] : []
                        return await self.fails { try await storage.commit(self.row("f\(flow)", 1), [own] + harm) }
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(failures == 3)
            let rows = try await storage.rows(after: "f", limit: 100).map(\.key).sorted()
            let others: [String] = (0..<30).filter { $0 % 10 != 5 }.map { "f\($0)" }
            #expect(rows == others.sorted())
            let numbers = Lock<[Int64]>([])
            let read = DatabaseWrite { database in
                let found = try database.rows("SELECT number FROM charge ORDER BY number") { $0.integer(0) }
                numbers.withLock { $0 = found }
            }
            try await storage.commit(row("a", 2), [read])
            let expected: [Int64] = [1] + (100..<130).filter { $0 % 10 != 5 }
            #expect(numbers.withLock { $0 } == expected)
            await storage.close().value
        }
    }

    @Test(
        "Between commits the database can be read, and nothing of it changed",
        arguments: [
            // As a change has it, so that it's prepared already.
            "INSERT INTO charge VALUES (1)", "UPDATE charge SET number = 7", "DELETE FROM charge", "CREATE TABLE other(number INTEGER)",
            "DROP TABLE charge",
            "PRAGMA user_version = 7", "BEGIN", "COMMIT", "SAVEPOINT mine", "ATTACH ':memory:' AS other", "VACUUM", "REINDEX", "ANALYZE",
            "nonsense",
            "UPDATE sqlite_master SET sql = ''", "CREATE TEMP TABLE mine(a)",
        ]
    )
    func reads(text: String) async throws {
        try await withTemporaryDirectory { directory in
            let store = FlowStore.sqlite(at: "\(directory.path)/flows.sqlite")
            let closed = await error { try await store.read { _ in } }
            #expect(closed?.code == .stopped)
            _ = try await store.storage.open()
            let write = { @Sendable (sql: SQL) in DatabaseWrite { try $0.execute(sql) } }
            try await store.storage.commit(
                row("a", 1),
                [write("CREATE TABLE charge(number INTEGER)"), write("INSERT INTO charge VALUES (1)")]
            )
            let charges = { @Sendable (database: Database) in
                try database.rows("SELECT number FROM charge ORDER BY number") { $0.integer(0) }
            }
            #expect(try await store.read(charges) == [1])
            let each = try await store.read { try $0.rows("SELECT value FROM json_each('[3,4]')") { $0.integer(0) } }
            #expect(each == [3, 4])
            let refusal = await #expect(throws: SQLiteError.self) { try await store.read { try $0.execute(SQL(stringLiteral: text)) } }
            // SQLite itself refuses the second one.
            let isRefused = ["nonsense", "UPDATE sqlite_master SET sql = ''"].contains(text) || refusal?.message.contains("auth") == true
            #expect(isRefused, "\(text): \(refusal.map { "\($0)" } ?? "done")")
            await #expect(throws: SQLiteError.self) { try await store.read { database in try database.transaction {} } }
            try await store.storage.commit(row("a", 2), [write("INSERT INTO charge VALUES (2)")])
            #expect(try await store.read(charges) == [1, 2])
            await store.storage.close().value
        }
    }

    @Test("A store without a database can be neither read nor copied, and says so")
    func noDatabase() async throws {
        let store = FlowStore.inMemory()
        for body in [{ try await store.read { _ in } }, { try await store.backUp(to: "/nowhere/copy") }] {
            #expect(await error(body)?.code == .unsupported)
        }
    }

    private func fails(_ body: () async throws -> Void) async -> Bool {
        do { try await body() } catch { return true }
        return false
    }

    @Test("A file that is provided under two names is one store, and stays locked against other processes")
    func names() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory.path)/flows.sqlite"
            #expect(symlink(directory.path, "\(directory.path)/link") == 0)
            let stores = ["", "/.", "/link"].map { FlowStore.sqlite(at: "\(directory.path)\($0)/flows.sqlite") }
            _ = try await stores[0].storage.open()
            #expect(stores.allSatisfy { $0.storage === stores[0].storage })
            // As another connection of this process that is refused doesn't give up the lock.
            let other = SQLiteFlowStorage(path, patience: .zero)
            #expect(await error { _ = try await other.open() }?.code == .storeInUse)
            let python = "import sqlite3; sqlite3.connect('\(path)', timeout=0).execute('SELECT count(*) FROM flow')"
            let end = try await BuiltProgram(path: "/usr/bin/env").run(["python3", "-c", python])
            #expect(end.exitCode == 1 && end.errors.contains("locked"), "\(end)")
            await stores[0].storage.close().value
        }
    }

    @Test("A copy is a store of its own")
    func copy() async throws {
        try await withTemporaryDirectory { directory in
            let store = FlowStore.sqlite(at: "\(directory.path)/flows.sqlite")
            let storage = store.storage
            let origin = try await storage.open().origin
            try await storage.commit(row("a", 1), [])
            try await store.backUp(to: "\(directory.path)/copy.sqlite")
            let copy = SQLiteFlowStorage("\(directory.path)/copy.sqlite")
            let opening = try await copy.open()
            #expect(opening.origin != origin && !opening.isAfterEnd)
            var status = stat()
            #expect(stat("\(directory.path)/copy.sqlite", &status) == 0 && status.st_mode & 0o777 == 0o600)
            #expect(try await copy.row(of: "a") == row("a", 1))
            let error = await error { try await store.backUp(to: "\(directory.path)/copy.sqlite") }
            #expect(error?.message.contains("copy.sqlite") == true, "a copy that is there isn't written over")
            await storage.close().value
            await copy.close().value
        }
    }
}
