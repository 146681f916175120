import ConcurrencySupport
import Glibc
import Processes
import WireProtocol

/// The pipe on which a worker waits for its ticket.
final class TicketPipe: Sendable {
    /// The worker's end.
    let reader: Int32
    private let writer: Lock<Int32?>

    init() throws(CoordinatorError) {
        do throws(ProcessError) {
            let pipe = try InheritablePipe()
            reader = pipe.reader
            writer = Lock(pipe.writer)
        } catch {
            throw CoordinatorError(.spawnFailed, "no pipe can be made for a worker's ticket: \(error.message)")
        }
    }

    /// Closes the pipe; without a ticket, a worker that still waits for one ends.
    deinit {
        if let descriptor = take() { close(descriptor) }
    }

    /// Closes this process's copy of the worker's end, when the worker has its own.
    func closeReader() { close(reader) }

    /// Writes the ticket, which is small enough that the call never blocks.
    ///
    /// - Throws: An error when the ticket can't be read any more: the worker has ended, or has closed its end.
    func give(_ ticket: Ticket) throws(CoordinatorError) {
        guard let descriptor = take() else { throw CoordinatorError(.spawnFailed, "a worker was given a ticket before") }
        let bytes = ticket.encoded()
        let count = write(descriptor, bytes, bytes.count)
        let number = errno
        close(descriptor)
        guard count == bytes.count else {
            throw CoordinatorError(.spawnFailed, "a worker's ticket can't be written: \(String(cString: strerror(number)))")
        }
    }

    private func take() -> Int32? {
        writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
    }
}
