internal import CNNG
import ConcurrencySupport

/// The sending half of a pair connection: one message at a time, header and body in one write.
final class MessageWriter: @unchecked Sendable {
    typealias Completion = @Sendable (NNGError?) -> Void

    struct Transmission {
        var body: [UInt8]
        let completion: Completion
        let request: CancellationRequest?
        var sent = 0
    }

    struct State {
        var current: Transmission?
        var failure: NNGError?
    }

    let reader: MessageReader
    private let maximumMessageSize: Int
    private let operation: AsyncOperation
    let immediateWrite: ImmediateWrite
    // Written before a submission and read by nng until its callback; `State.current` keeps a second transmission out.
    private let header: UnsafeMutableRawBufferPointer
    /// The length of a header that is sent from its own place; 0 on an encrypted connection, where it's encrypted together with the body.
    let headerLength: Int
    let state = Lock(State())

    /// Creates a writer besides the reader of the same stream.
    ///
    /// The reader also stores why the connection ended, and gets the errors after which no more can be sent.
    init(besides reader: MessageReader, maximumMessageSize: Int) throws(NNGError) {
        self.reader = reader
        self.maximumMessageSize = maximumMessageSize
        operation = try AsyncOperation(for: "send", address: reader.address)
        immediateWrite = try ImmediateWrite(address: reader.address)
        header = .allocate(byteCount: PairFraming.headerLength, alignment: 1)
        headerLength = reader.session == nil ? PairFraming.headerLength : 0
    }

    deinit {
        header.deallocate()
    }

    func transmit(_ body: [UInt8], request: CancellationRequest? = nil, completion: @escaping Completion) {
        if let body = beginWrite(body, request, completion) { submit(body, from: 0, request: request) }
    }

    /// Tells the peer of an encrypted connection that nothing follows, unless a message is on its way or the connection is ending otherwise.
    func end() {
        guard let session = reader.session else { return }
        let isFree = state.withLock { state in
            guard state.current == nil, state.failure == nil else { return false }
            state.failure = error(.closed)
            return true
        }
        guard isFree else { return }
        let bytes = session.end()
        _ = immediateWrite.perform(on: reader.handle) { set(bytes, from: 0, in: $0) }
        withExtendedLifetime(bytes) {}
    }

    /// Makes a message the current one; if that can't be, it's completed.
    ///
    /// - Returns: What is sent after the header, or with it.
    func beginWrite(_ body: [UInt8], _ request: CancellationRequest?, _ completion: @escaping Completion) -> [UInt8]? {
        guard body.count <= maximumMessageSize else {
            completion(error(.messageTooLarge))
            return nil
        }
        let refusal = state.withLock { state -> NNGError? in
            if let failure = state.failure { return failure }
            if state.current != nil { return error(.busy) }
            state.current = Transmission(body: body, completion: completion, request: request)
            return nil
        }
        if let refusal {
            completion(refusal)
            return nil
        }
        guard let session = reader.session else {
            PairFraming.writeHeader(of: body.count, to: header)
            return body
        }
        // The holder of the transmission encrypts: messages leave in the order in which they were encrypted.
        do throws(NNGError) {
            let encrypted = try session.encrypt(PairFraming.framed(body))
            state.withLock { $0.current?.body = encrypted }
            return encrypted
        } catch {
            fail(with: error, isFinal: true)
            reader.close(error)
            return nil
        }
    }

    /// Cancels the transmission that was started with `request`, as far as it hasn't left.
    ///
    /// What has been encrypted leaves: the peer decrypts nothing that comes after a gap.
    func cancel(_ request: CancellationRequest) {
        guard reader.session == nil else { return }
        request.make(.canceled)
        // If that transmission ends and another begins just now, the other one is interrupted; `ended` resumes it.
        if state.withLock({ $0.current?.request === request }) {
            operation.cancel(.canceled)
        }
    }

    func submit(_ body: [UInt8], from sent: Int, request: CancellationRequest?) {
        let submission = operation.submit(on: reader.handle, request: request) { outcome in
            self.ended(outcome)
        } start: { stream, aio in
            set(body, from: sent, in: aio)
            nng_stream_send(stream, aio)
        }
        switch submission {
        case .accepted: break
        case .busy: fail(with: error(.busy), isFinal: false)
        case .closed: fail(with: error(seenFromHere(.closed)), isFinal: true)
        }
    }

    /// Gives an operation the bytes that are still to be sent.
    func set(_ body: [UInt8], from sent: Int, in aio: OpaquePointer) {
        // `State.current` owns the array until the operation's end, and the storage of an array with two owners is never written to, so the
        // pointer stays valid.
        body.withUnsafeBytes { body in
            let unsentHeader = max(0, headerLength - sent)
            let unsentBody = body[max(0, sent - headerLength)...]
            var vectors = (
                nng_iov(iov_buf: header.baseAddress?.advanced(by: headerLength - unsentHeader), iov_len: unsentHeader),
                nng_iov(
                    iov_buf: UnsafeMutableRawPointer(mutating: UnsafeRawBufferPointer(rebasing: unsentBody).baseAddress),
                    iov_len: unsentBody.count
                )
            )
            withUnsafeBytes(of: &vectors) { vectors in
                _ = nng_aio_set_iov(aio, 2, vectors.baseAddress?.assumingMemoryBound(to: nng_iov.self))
            }
        }
    }

    private func ended(_ outcome: AsyncOperation.Outcome) {
        guard let code = outcome.code else {
            let (rest, completion) = state.withLock { state -> (Transmission?, Completion?) in
                state.current?.sent += outcome.count
                guard let current = state.current else { return (nil, nil) }
                if current.sent < headerLength + current.body.count { return (current, nil) }
                state.current = nil
                return (nil, current.completion)
            }
            if let rest {
                submit(rest.body, from: rest.sent, request: rest.request)
            }
            completion?(nil)
            return
        }
        guard let current = state.withLock({ $0.current }) else { return }
        if code == .canceled {
            if current.request?.reason == nil {
                // The cancellation was meant for the transmission before this one.
                submit(current.body, from: current.sent, request: current.request)
                return
            }
            if current.sent == 0 {
                fail(with: error(.canceled), isFinal: false)
                return
            }
        }
        let failure = error(seenFromHere(code))
        fail(with: failure, isFinal: true)
        switch failure.code {
        case .connectionShut, .connectionReset, .closed: break  // The reader reports it, after the peer's last messages.
        default: reader.close(failure)  // Half a message may have left.
        }
    }

    /// Translates nng's "closed", which stands for a broken pipe, for a reader that closed after the peer had gone, and for `close` at this
    /// end.
    private func seenFromHere(_ code: NNGError.Code) -> NNGError.Code {
        guard code == .closed else { return code }
        if let end = reader.endOfPeer { return end }
        return reader.handle.isClosed ? .closed : .connectionShut
    }

    private func fail(with result: NNGError, isFinal: Bool) {
        let completion = state.withLock { state in
            if isFinal { state.failure = result }
            defer { state.current = nil }
            return state.current?.completion
        }
        completion?(result)
    }

    private func error(_ code: NNGError.Code) -> NNGError {
        NNGError(code, operation: "send", address: reader.address)
    }
}
