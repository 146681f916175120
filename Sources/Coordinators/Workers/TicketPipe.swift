import Glibc
import Synchronization
import WireProtocol

/// The pipe on which a worker waits for its ticket.
final class TicketPipe: Sendable {
    /// The worker's end.
    let reader: Int32
    private let writer: Mutex<Int32?>

    init() throws(CoordinatorError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw CoordinatorError(.spawnFailed, "no pipe can be made for a worker's ticket: \(String(cString: strerror(errno)))")
        }
        // No other spawn inherits them meanwhile: every spawn closes what it isn't given.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reader = ends[0]
        writer = Mutex(ends[1])
    }

    deinit { close() }

    /// The worker has got its end by now.
    func closeReader() { Glibc.close(reader) }

    /// Gives the ticket, which is small enough never to block.
    func give(_ ticket: Ticket) throws(CoordinatorError) {
        guard let descriptor = take() else { throw CoordinatorError(.spawnFailed, "a worker was given a ticket before") }
        let bytes = ticket.encoded()
        let count = write(descriptor, bytes, bytes.count)
        let number = errno
        Glibc.close(descriptor)
        guard count == bytes.count else {
            throw CoordinatorError(.spawnFailed, "a worker's ticket can't be written: \(String(cString: strerror(number)))")
        }
    }

    /// No ticket will come: a worker that still waits ends.
    func close() {
        if let descriptor = take() { Glibc.close(descriptor) }
    }

    private func take() -> Int32? {
        writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
    }
}
