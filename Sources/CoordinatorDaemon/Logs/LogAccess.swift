import ConcurrencySupport
import Glibc
import Processes

/// Who may read a log file: its permissions and its owner.
struct LogAccess: Equatable {
    /// The permissions; nil: those with which the file is made, 0600.
    var mode: UInt32?
    /// The owner, as ``FileOwner`` reads it; nil: as it is.
    var owner: String?

    /// The permissions of directories that are made for the file: those who may read it have to get there.
    var directoryMode: mode_t { (mode ?? 0) & 0o077 == 0 ? 0o700 : 0o755 }

    /// Gives an open file its permissions and its owner; may block while accounts are looked up.
    ///
    /// - Returns: Why it doesn't have them; nil: it has.
    func apply(to descriptor: Int32, _ status: stat) -> String? {
        if let mode, status.st_mode & 0o777 != mode, fchmod(descriptor, mode) != 0 {
            return "its permissions can't be changed: \(String(cString: strerror(errno)))"
        }
        guard let owner else { return nil }
        do throws(ProcessError) {
            let error = try FileOwner(owner).takeFile(descriptor, status)
            return error == 0 ? nil : "it can't be given to \(owner): \(String(cString: strerror(error)))"
        } catch {
            return error.message
        }
    }
}

/// The turns of those who write to one file: children may share one, and its rotation is one step.
final class LogTurns: Sendable {
    private let turns = Lock<[String: LogTurn]>([:])

    /// Returns the turn of a file, the same for all its writers.
    func turn(of file: String) -> LogTurn {
        turns.withLock { turns in
            if let turn = turns[file] { return turn }
            let turn = LogTurn()
            turns[file] = turn
            return turn
        }
    }
}

/// The turn of one file, which a writing thread holds while it writes.
final class LogTurn: Sendable {
    private let lock = Lock(())

    func take<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        try lock.withLock { _ throws(Failure) in try body() }
    }
}
