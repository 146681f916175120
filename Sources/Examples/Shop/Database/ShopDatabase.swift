import CoordinatorsSQLite
import Dispatch

/// The shop's SQLite file, open.
///
/// Each process of the shop opens the file once; the statements of each section are in an extension of their own. They wait for the disk
/// and for other processes, so they run on a thread of their own and not on one that other actors need.
actor ShopDatabase {
    let connection: Database
    private let executor = QueueExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the file; creates it if it doesn't exist.
    init(path: String) throws {
        connection = try Database(path: path)
        // With a write-ahead log, readers of one process don't wait for the writer of another; writers wait for one another.
        // https://sqlite.org/wal.html
        try connection.execute("PRAGMA journal_mode = WAL")
        try connection.execute("PRAGMA foreign_keys = ON")
    }
}

/// Runs an actor on a queue of Dispatch.
private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "database")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
