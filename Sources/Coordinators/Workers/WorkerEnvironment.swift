import Glibc
import Links
import Logging
import WireProtocol

/// The environment by which a process knows that it's a worker, and of which parent.
enum WorkerEnvironment {
    /// Names the descriptor on which the ticket is waiting; the ticket itself is never in the environment.
    static let ticketVariable = "COORDINATOR_TICKET_FD"
    /// The descriptor that workers get their ticket on.
    static let ticketDescriptor: Int32 = 3

    /// Tells a worker the level of its parent's log.
    static let logLevelVariable = "COORDINATOR_LOG_LEVEL"

    /// A log that is as detailed as the parent's, if this process is a worker and its program has configured nothing else.
    static func logger(label: String) -> Logger {
        var logger = Logger(label: label)
        // Any level but the one that logs begin with was configured.
        if logger.logLevel == .info, let level = getenv(logLevelVariable).flatMap({ Logger.Level(rawValue: String(cString: $0)) }) {
            logger.logLevel = level
        }
        return logger
    }

    /// Takes the ticket that the parent has left, if this process is a worker.
    ///
    /// The second call finds nothing.
    ///
    /// - Throws: when there should be one and it can't be read.
    static func takeTicket() throws(CoordinatorError) -> Ticket? {
        guard let text = getenv(ticketVariable).map({ String(cString: $0) }) else { return nil }
        unsetenv(ticketVariable)
        guard let descriptor = Int32(text) else {
            throw CoordinatorError(.startFailed, "\(ticketVariable) is '\(text)', which is no descriptor")
        }
        defer { close(descriptor) }
        // A spare waits for its ticket, perhaps for days; what can be done before is done before.
        Link.prepare()
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
        // The spare isn't needed any more: its parent has closed the pipe, or is gone.
        if bytes.isEmpty { exit(0) }
        do {
            return try Ticket(decoding: bytes)
        } catch {
            throw CoordinatorError(.startFailed, "the ticket on descriptor \(descriptor) can't be read: \(error)")
        }
    }
}
