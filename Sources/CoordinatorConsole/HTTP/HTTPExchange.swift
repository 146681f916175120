import ConcurrencySupport

/// One request and its answer: what the task that answers and the server's thread tell each other.
///
/// The task calls ``run(_:respond:)`` and what that calls; the thread calls the functions that begin with `connection`, none of which waits.
final class HTTPExchange: Sendable {
    /// The reason for which a body isn't received, or an answer not sent.
    enum Failure: Error {
        case tooLarge
        case connectionEnded
    }

    /// What the connection does next.
    enum Step {
        /// Nothing, until it's resumed.
        case wait
        /// It receives the body.
        case receive
        case send(HTTPResponse)
        case close
    }

    /// What the connection gets to send.
    enum Chunk {
        case bytes(Int)
        /// There is nothing yet.
        case wait
        case end
        case close
    }

    private typealias Waiter<Value> = CheckedContinuation<Result<Value, Failure>, Never>

    private enum State {
        /// The task has all that it has asked for. Can transition to: wanted, answered, over.
        case deciding
        /// The task waits for the body, of which the connection knows nothing yet. Can transition to: receiving, over.
        case wanted(limit: Int, Waiter<[UInt8]>)
        /// The body comes; of one that is too large a byte too many is kept. Can transition to: deciding, over.
        case receiving([UInt8], limit: Int, Waiter<[UInt8]>)
        /// The connection hasn't taken the answer yet. Can transition to: sending, over.
        case answered(HTTPResponse, Waiter<Void>)
        /// The connection sends; these bytes of a stream it hasn't taken yet. Can transition to: sent, over.
        case sending(ArraySlice<UInt8>, Waiter<Void>?)
        /// The stream has all its bytes. Can transition to: over.
        case sent
        /// The answer was sent, or the connection can't be used any more.
        case over
    }

    /// The number by which the server's thread knows the exchange.
    let id: UInt64
    private let server: HTTPServer
    private let state = Lock(State.deciding)
    private let end = OneShot<Void>()

    init(_ id: UInt64, server: HTTPServer) {
        self.id = id
        self.server = server
    }

    // MARK: The task

    /// Answers the request; returns when the answer is on its way, or that of a stream was sent.
    func run(_ request: HTTPRequest, respond: @Sendable (HTTPRequest) async -> HTTPResponse) async {
        let response = await respond(request)
        _ = await offer { state, waiter in
            guard case .deciding = state else { return false }
            state = .answered(response, waiter)
            return true
        }
        guard case .stream(let produce) = response.body else { return }
        await withTaskGroup { group in
            group.addTask {
                do {
                    try await produce { try await self.write($0) }
                    self.finish()
                } catch {
                    self.close()
                }
            }
            await end.value
            group.cancelAll()
        }
    }

    /// Receives the body; the connection is closed when it isn't whole in time, however many bytes come.
    func body(upTo limit: Int, within time: Duration) async throws(Failure) -> [UInt8] {
        let source = TimeSource.monotonic
        let timer = source.schedule(at: source.now + time) { self.close() }
        defer { source.cancel(timer) }
        return try await offer { state, waiter in
            guard case .deciding = state else { return false }
            state = .wanted(limit: limit, waiter)
            return true
        }.get()
    }

    /// Ends the connection.
    func close() {
        setOver()
        server.wake(self)
    }

    private func write(_ bytes: [UInt8]) async throws(Failure) {
        guard !bytes.isEmpty else { return }
        try await offer { state, waiter in
            guard case .sending(_, nil) = state else { return false }
            state = .sending(bytes[...], waiter)
            return true
        }.get()
    }

    private func finish() {
        let isChanged = state.withLock { state in
            guard case .sending = state else { return false }
            state = .sent
            return true
        }
        if isChanged { server.wake(self) }
    }

    /// Waits for the connection with a state that has the task's continuation; fails when the state can't change to it.
    private func offer<Value>(_ change: (inout State, Waiter<Value>) -> Bool) async -> Result<Value, Failure> {
        await withCheckedContinuation { waiter in
            if state.withLock({ change(&$0, waiter) }) {
                server.wake(self)
            } else {
                waiter.resume(returning: .failure(.connectionEnded))
            }
        }
    }

    private func setOver() {
        let former = state.withLock { state in
            defer { state = .over }
            return state
        }
        switch former {
        case .wanted(_, let waiter), .receiving(_, _, let waiter): waiter.resume(returning: .failure(.connectionEnded))
        case .answered(_, let waiter), .sending(_, let waiter?): waiter.resume(returning: .failure(.connectionEnded))
        case .deciding, .sending(_, nil), .sent, .over: break
        }
        end.settle()
    }

    // MARK: The server's thread

    /// Whether the connection is to be closed.
    var isOver: Bool {
        state.withLock { if case .over = $0 { true } else { false } }
    }

    /// Returns what the connection does when it has a head, or a whole request.
    func connectionAsks() -> Step {
        let (step, resume) = state.withLock { state -> (Step, (@Sendable () -> Void)?) in
            switch state {
            case .deciding: return (.wait, nil)
            case .wanted(let limit, let waiter):
                state = .receiving([], limit: limit, waiter)
                return (.receive, nil)
            case .receiving(let bytes, let limit, let waiter):
                state = .deciding
                return (.wait, { waiter.resume(returning: bytes.count > limit ? .failure(.tooLarge) : .success(bytes)) })
            case .answered(let response, let waiter):
                state = .sending([], nil)
                return (.send(response), { waiter.resume(returning: .success(())) })
            case .sending, .sent, .over: return (.close, nil)
            }
        }
        resume?()
        return step
    }

    /// Takes a part of the body; one that wasn't asked for is dropped.
    func connectionReceived(_ part: UnsafeRawBufferPointer) {
        state.withLock { state in
            guard case .receiving(var bytes, let limit, let waiter) = state else { return }
            state = .deciding  // So that the bytes aren't copied.
            bytes += part.prefix(limit + 1 - bytes.count)
            state = .receiving(bytes, limit: limit, waiter)
        }
    }

    /// Fills a buffer with the next bytes of a stream.
    func connectionSends(_ buffer: UnsafeMutableRawBufferPointer) -> Chunk {
        let (chunk, waiter) = state.withLock { state -> (Chunk, Waiter<Void>?) in
            switch state {
            case .sending(let bytes, let waiter):
                guard !bytes.isEmpty else { return (.wait, nil) }
                let part = bytes.prefix(buffer.count)
                buffer.copyBytes(from: part)
                let rest = bytes.dropFirst(part.count)
                state = .sending(rest, rest.isEmpty ? nil : waiter)
                return (.bytes(part.count), rest.isEmpty ? waiter : nil)
            case .sent: return (.end, nil)
            case .deciding, .wanted, .receiving, .answered, .over: return (.close, nil)
            }
        }
        waiter?.resume(returning: .success(()))
        return chunk
    }

    /// Notes that the answer was sent, or that the connection has ended.
    func connectionEnded() { setOver() }
}
