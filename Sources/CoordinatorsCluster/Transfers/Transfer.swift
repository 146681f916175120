import CCurl
import ConcurrencySupport

/// A POST and its answer: what passes between the thread that transfers bytes and the task that reads them.
///
/// One task reads, once at a time. It calls ``end()`` when it doesn't go on to the end of the answer.
final class Transfer: Sendable {
    /// What is sent.
    struct Request: Sendable {
        let address: String
        /// Lines of the form "Name: value".
        let headers: [String]
        let body: [UInt8]
        let connectLimit: Duration
        /// Whether the answer goes on for as long as it's read.
        let isStream: Bool
    }

    private typealias Reader = CheckedContinuation<Result<[UInt8]?, any Error>, Never>

    private struct State {
        /// What has come and wasn't read.
        var bytes: [UInt8] = []
        var status = 0
        /// How many bytes of the request's body libcurl has fetched, to send them.
        var given = 0
        /// Whether libcurl keeps bytes until there is room.
        var isPaused = false
        /// The task that waits for bytes, or the end.
        var reader: Reader?
        /// How the answer has ended; `nil`: it goes on.
        var outcome: Result<Void, any Error>?
    }

    /// The most that waits for the reader, unless the network has brought more at once; the thread reads no more then.
    private static let waitingLimit = 1 << 20

    let request: Request
    /// The certificates, which are there as long as the transfer is; `nil`: the connection isn't encrypted.
    let files: TransferFiles?
    let thread: TransferThread
    private let state = Lock(State())

    init(_ request: Request, with files: TransferFiles?, on thread: TransferThread) {
        (self.request, self.files, self.thread) = (request, files, thread)
    }

    /// The status of the answer; 0 before any of its bytes was read.
    var status: Int { state.withLock { $0.status } }

    /// Waits for the next bytes; `nil` at the end of the answer.
    ///
    /// A cancellation ends the transfer.
    ///
    /// - Throws: ``TransferError`` when the answer isn't whole, and `CancellationError` when the transfer was ended.
    func next() async throws -> [UInt8]? {
        let found = await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let (found, mustResume) = state.withLock { state -> (Result<[UInt8]?, any Error>?, Bool) in
                    if !state.bytes.isEmpty {
                        defer { (state.bytes, state.isPaused) = ([], false) }
                        return (.success(state.bytes), state.isPaused)
                    }
                    if state.outcome == nil { state.reader = reader }
                    return (state.outcome?.map { nil }, false)
                }
                if mustResume { thread.resume(self) }
                if let found { reader.resume(returning: found) }
            }
        } onCancel: {
            end()
        }
        return try found.get()
    }

    /// Waits for the whole answer, of which something may have been read already.
    func collect(after beginning: [UInt8] = [], upTo limit: Int) async throws -> [UInt8] {
        var answer = beginning
        while let bytes = try await next() {
            guard answer.count + bytes.count <= limit else {
                end()
                throw TransferError(description: "The answer has more than \(limit) bytes", mayHaveBeenSent: true)
            }
            answer += bytes
        }
        return answer
    }

    /// Ends the transfer; has no effect once it has ended.
    func end() {
        if finish(.failure(CancellationError()), forgetting: true) { thread.end(self) }
    }

    // MARK: For the thread

    /// Whether the transfer has ended, as far as its reader is concerned.
    var isOver: Bool { state.withLock { $0.outcome != nil } }

    /// Copies the next bytes of the body.
    func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let body = request.body
        return state.withLock { state in
            let count = min(buffer.count, body.count - state.given)
            buffer.copyBytes(from: body[state.given..<state.given + count])
            state.given += count
            return count
        }
    }

    /// Takes bytes of the answer, unless as many as may wait do already.
    func receive(_ bytes: UnsafeRawBufferPointer, status: Int) -> coordinator_curl_taken {
        let (taken, reader) = state.withLock { state -> (coordinator_curl_taken, Reader?) in
            guard state.outcome == nil else { return (COORDINATOR_CURL_REFUSED, nil) }
            state.status = status
            guard state.bytes.isEmpty || state.bytes.count + bytes.count <= Self.waitingLimit else {
                state.isPaused = true
                return (COORDINATOR_CURL_PAUSED, nil)
            }
            defer { state.reader = nil }
            if state.reader == nil { state.bytes.append(contentsOf: bytes) }
            return (COORDINATOR_CURL_TAKEN, state.reader)
        }
        reader?.resume(returning: .success([UInt8](bytes)))
        return taken
    }

    /// The answer has ended, wholly or not.
    func complete(status: Int, failure: String?) {
        let wasGiven = state.withLock { state in
            if state.status == 0 { state.status = status }
            return state.given > 0
        }
        // The body follows the headers: a peer that has got none of it does nothing.
        finish(failure.map { .failure(TransferError(description: $0, mayHaveBeenSent: wasGiven)) } ?? .success(()))
    }

    /// - Returns: Whether the transfer hadn't ended before.
    @discardableResult
    func finish(_ outcome: Result<Void, any Error>, forgetting: Bool = false) -> Bool {
        let (isFirst, reader) = state.withLock { state -> (Bool, Reader?) in
            guard state.outcome == nil else { return (false, nil) }
            state.outcome = outcome
            if forgetting { state.bytes = [] }
            defer { state.reader = nil }
            return (true, state.reader)
        }
        reader?.resume(returning: outcome.map { nil })
        return isFirst
    }
}
