import Glibc
import Links
import Logging
import Processes
import WireProtocol

/// The environment from which a process learns that it's a worker, and of which parent.
enum WorkerEnvironment {
    /// The variable with the number of the descriptor on which the ticket arrives; the ticket itself is never in the environment.
    static let ticketVariable = "COORDINATOR_TICKET_FD"
    /// The descriptor on which workers get their ticket.
    static let ticketDescriptor: Int32 = 3

    /// The variable with the number of the descriptor whose lock the worker holds for its life.
    static let lockVariable = "COORDINATOR_LIFE_LOCK_FD"
    /// The descriptor whose lock a worker holds for its life.
    static let lockDescriptor: Int32 = 4

    /// The variable with the level of the parent's log.
    static let logLevelVariable = "COORDINATOR_LOG_LEVEL"

    /// The variable with the epoch under which a node of a cluster owns the subtree; all processes of the subtree inherit it.
    static let fenceVariable = "COORDINATOR_FENCE"
    /// The epoch of the subtree to which this process belongs.
    static let fence = getenv(fenceVariable).flatMap { UInt64(String(cString: $0)) }

    /// The variable by which Swift's backtracer is configured; see <https://github.com/swiftlang/swift/blob/main/docs/Backtracing.rst>.
    static let backtraceVariable = "SWIFT_BACKTRACE"
    /// The backtracer's setting for workers that are given none: a process that crashes ends at once, instead of after the seconds in which
    /// its backtrace is made, during which it looks alive and its asks are open.
    static let noBacktrace = "enable=no"

    /// The variables that a parent sets for one worker, which that worker's own children don't inherit.
    static let variables = [ticketVariable, lockVariable, logLevelVariable]

    /// Returns a logger as detailed as the parent's, if this process is a worker and its program has configured no other level.
    static func logger(label: String) -> Logger {
        var logger = Logger(label: label)
        // A level other than the initial one was configured by the program.
        if logger.logLevel == .info, let level = getenv(logLevelVariable).flatMap({ Logger.Level(rawValue: String(cString: $0)) }) {
            logger.logLevel = level
        }
        return logger
    }

    /// Keeps the lock of this process's life from its own children, which may outlive it.
    private static func keepLock() {
        guard let descriptor = getenv(lockVariable).flatMap({ Int32(String(cString: $0)) }) else { return }
        unsetenv(lockVariable)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Takes the ticket that the parent has sent, if this process is a worker.
    ///
    /// A second call returns nothing.
    ///
    /// - Throws: An error when there should be a ticket and it can't be read.
    static func takeTicket() throws(CoordinatorError) -> Ticket? {
        guard let text = getenv(ticketVariable).map({ String(cString: $0) }) else { return nil }
        unsetenv(ticketVariable)
        keepLock()
        guard let descriptor = Int32(text) else {
            throw CoordinatorError(.startFailed, "\(ticketVariable) is '\(text)', which is no descriptor")
        }
        defer { close(descriptor) }
        // A spare waits for its ticket, perhaps for days, so all preparation is done before.
        Link.prepareFew()
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw CoordinatorError(
                    .startFailed,
                    "the ticket can't be read from descriptor \(descriptor): \(String(cString: strerror(errno)))"
                )
            }
            if count == 0 { break }
            bytes.append(contentsOf: buffer[..<count])
        }
        // The spare isn't needed any more: its parent has closed the pipe, or has ended.
        if bytes.isEmpty { exit(0) }
        do {
            return try Ticket(decoding: bytes)
        } catch {
            throw CoordinatorError(.startFailed, "the ticket on descriptor \(descriptor) can't be read: \(error)")
        }
    }
}

// MARK: - What children inherit of the environment

/// The part of this process's environment that children inherit, byte for byte.
///
/// It's read once, when the runtime is made: setenv(3) on another thread at the same moment would make the reading unsafe, and no lock of
/// the C library prevents that.
struct InheritedEnvironment: Sendable {
    /// The variables that systemd sets for this process alone, see sd_notify(3), sd_listen_fds(3) and sd_watchdog_enabled(3), and those
    /// that this process's parent has set.
    private static let own = [
        "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC", ProcessMark.variable,
    ]
    private static let ownPrefixes = (own + WorkerEnvironment.variables).map { Array("\($0)=".utf8) }

    /// The entries in the form `NAME=value`, which need not be UTF-8.
    let entries: [[UInt8]]

    init(_ entries: [[UInt8]]) {
        // Each process of coordinators does this at its start, so names aren't made into strings for it.
        self.entries = entries.filter { entry in !Self.ownPrefixes.contains { entry.starts(with: $0) } }
    }

    static func inherited() -> InheritedEnvironment {
        var entries: [[UInt8]] = []
        var entry = environ
        while let text = entry.pointee {
            entries.append(UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) })
            entry += 1
        }
        return InheritedEnvironment(entries)
    }

    subscript(name: String) -> String? {
        let prefix = Array("\(name)=".utf8)
        return entries.first { $0.starts(with: prefix) }.map { String(decoding: $0.dropFirst(prefix.count), as: UTF8.self) }
    }
}
